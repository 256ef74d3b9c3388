import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc = nn.Linear(8, 2)

    def forward(self, x, keep=False):
        maps = F.relu(self.conv(x))
        if keep:
            maps.retain_grad()
            self.maps = maps
        return self.fc(maps.mean((2, 3)))


def class_map(model, x, label):
    """Feature maps weighted by their mean gradient."""
    scores = model(x, keep=True)
    scores.backward(F.one_hot(label, 2).float())
    weights = model.maps.grad.mean((2, 3), keepdim=True)
    result = F.relu((weights * model.maps).sum(1)).detach()
    del model.maps
    model.zero_grad()
    return result


def perturbed(model, x, y, epsilon=0.05):
    x = x.clone().requires_grad_()
    F.cross_entropy(model(x), y).backward()
    return (x + epsilon * x.grad.sign()).detach()


def batch(n=32):
    y = torch.randint(0, 2, (n,))
    x = 0.2 * torch.randn(n, 1, 8, 8)
    x[y == 0, 0, 2:4, :] += 1.0
    x[y == 1, 0, :, 2:4] += 1.0
    return x, y


model = Small()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(40):
    x, y = batch()
    attacked = perturbed(model, x, y)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y) + F.cross_entropy(model(attacked), y)
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        heat = class_map(model, x[:4], y[:4])
        print(f"step {step} loss {loss.item():.4f} heat {heat.mean().item():.4f}")
