import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        h = F.relu(self.norm(self.conv(x)))
        return self.fc(h.mean(-1)), h


class ActivationGradients:
    """Channel importance from the gradient of the activations."""

    def __init__(self, channels):
        self.sum = torch.zeros(channels)

    def watch(self, activations):
        activations.register_hook(self.receive)

    def receive(self, grad):
        self.sum += grad.abs().mean(dim=(0, 2))


def fuse_steps_into_backward(model, lr):
    """One optimiser per parameter, stepped as soon as the gradient is complete."""
    optimizers = {p: torch.optim.SGD([p], lr=lr, momentum=0.9) for p in model.parameters()}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    return [p.register_post_accumulate_grad_hook(step) for p in model.parameters()]


def bounded(module, grad_input, grad_output):
    return tuple(None if g is None else g.clamp(-1.0, 1.0) for g in grad_input)


def waves(n, gen):
    label = torch.randint(0, 3, (n,), generator=gen)
    t = torch.linspace(0, 6.28, 16)
    x = torch.sin(t * (1 + label[:, None])).unsqueeze(1).repeat(1, 2, 1)
    return x + 0.2 * torch.randn(n, 2, 16, generator=gen), label


torch.manual_seed(0)
gen = torch.Generator().manual_seed(2)
model = Net()
importance = ActivationGradients(8)
handles = fuse_steps_into_backward(model, lr=0.05)
handles.append(model.fc.register_full_backward_hook(bounded))
for step in range(20):
    x, y = waves(16, gen)
    logits, activations = model(x)
    importance.watch(activations)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    if step % 6 == 0:
        print(step, round(loss.item(), 4))
for handle in handles:
    handle.remove()
print("top channel", int(importance.sum.argmax()), all(p.grad is None for p in model.parameters()))
