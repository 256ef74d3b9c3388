import torch
import torch.nn as nn

torch.manual_seed(0)


class SAM:
    """Sharpness aware minimization around a base optimizer."""

    def __init__(self, params, base, rho=0.05, **kw):
        self.params = list(params)
        self.base = base(self.params, **kw)
        self.rho = rho
        self.eps = {}

    def zero_grad(self):
        self.base.zero_grad()

    @torch.no_grad()
    def ascend(self):
        norm = torch.stack([p.grad.norm() for p in self.params if p.grad is not None]).norm()
        for p in self.params:
            if p.grad is None:
                continue
            e = p.grad * (self.rho / (norm + 1e-12))
            p.add_(e)
            self.eps[p] = e
        self.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, e in self.eps.items():
            p.sub_(e)
        self.eps.clear()
        self.base.step()
        self.zero_grad()


model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
crit = nn.CrossEntropyLoss()
opt = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
x = torch.randn(200, 10)
y = (x @ torch.randn(10, 3)).argmax(1)

for epoch in range(6):
    for xb, yb in zip(x.split(50), y.split(50)):
        first = crit(model(xb), yb)
        first.backward()
        opt.ascend()
        second = crit(model(xb), yb)
        second.backward()
        opt.descend()
    print(f"epoch {epoch} {first.item():.4f} -> {second.item():.4f}")
