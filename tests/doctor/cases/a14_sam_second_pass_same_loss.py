import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM:
    """Sharpness-aware minimisation: climb to the worst nearby point, descend from there."""

    def __init__(self, params, base, rho=0.05):
        self.params = list(params)
        self.base = base(self.params)
        self.rho = rho
        self.offsets = {}

    @torch.no_grad()
    def ascend(self):
        norm = torch.stack([p.grad.norm() for p in self.params if p.grad is not None]).norm()
        for p in self.params:
            if p.grad is not None:
                self.offsets[p] = p.grad * (self.rho / (norm + 1e-12))
                p.add_(self.offsets[p])
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, offset in self.offsets.items():
            p.sub_(offset)
        self.offsets.clear()
        self.base.step()
        self.base.zero_grad()


def two_moons(n, gen):
    t = torch.rand(n, generator=gen) * torch.pi
    label = torch.randint(0, 2, (n,), generator=gen)
    sign = 1.0 - 2.0 * label
    x = torch.stack([t.cos() * sign + label, t.sin() * sign + 0.3 * label], dim=1)
    return x + 0.1 * torch.randn(n, 2, generator=gen), label


def train(steps=40):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(9)
    model = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 2))
    sam = SAM(model.parameters(), lambda ps: torch.optim.SGD(ps, lr=0.3, momentum=0.9))
    for step in range(steps):
        x, y = two_moons(48, gen)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        sam.ascend()
        loss.backward()
        sam.descend()
        if step % 10 == 9:
            print(f"step {step:3d} loss {loss.item():.4f}")
    return model


if __name__ == "__main__":
    train()
