import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(72)


class LocalLinear(nn.Module):
    """Linear layer whose units only see a neighbourhood of the input."""

    def __init__(self, n_in, n_out, reach=3):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        centre = torch.linspace(0, n_in - 1, n_out).unsqueeze(1)
        mask = ((torch.arange(n_in) - centre).abs() <= reach).float()
        self.register_buffer("mask", mask)
        with torch.no_grad():
            self.linear.weight.mul_(mask)
        self.handle = self.linear.weight.register_hook(lambda g: g * self.mask)

    def forward(self, x):
        return self.linear(x)


class Retina(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = LocalLinear(30, 20)
        self.l2 = LocalLinear(20, 12, reach=4)
        self.cls = nn.Linear(12, 3)

    def forward(self, x):
        return self.cls(F.relu(self.l2(F.relu(self.l1(x)))))


def stimuli(n):
    y = torch.randint(0, 3, (n,))
    x = 0.4 * torch.randn(n, 30)
    for k in range(3):
        x[y == k, 10 * k:10 * k + 6] += 1.0
    return x, y


retina = Retina()
opt = torch.optim.SGD(retina.parameters(), lr=0.1, momentum=0.9)
for step in range(150):
    x, y = stimuli(64)
    loss = F.cross_entropy(retina(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.4f}")

used = (retina.l1.linear.weight != 0).float().mean().item()
print(f"last loss {loss.item():.4f}, connections in use {used:.3f}")
