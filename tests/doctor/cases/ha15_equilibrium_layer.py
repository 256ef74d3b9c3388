import torch
import torch.nn as nn
import torch.nn.functional as F


class FixedPoint(nn.Module):
    """Solves z = f(z, x) and differentiates through the solution, not the iterations."""

    def __init__(self, f, tol=1e-5, limit=60):
        super().__init__()
        self.f, self.tol, self.limit = f, tol, limit

    def solve(self, g, z):
        for _ in range(self.limit):
            new = g(z)
            if (new - z).norm() < self.tol * (1 + z.norm()):
                return new
            z = new
        return z

    def forward(self, x):
        with torch.no_grad():
            z = self.solve(lambda z: self.f(z, x), torch.zeros_like(x))
        z = self.f(z, x)
        if not torch.is_grad_enabled():
            return z
        z0 = z.detach().requires_grad_()
        f0 = self.f(z0, x.detach())

        def backward_hook(grad):
            return self.solve(
                lambda y: torch.autograd.grad(f0, z0, y, retain_graph=True)[0] + grad, grad
            )

        z.register_hook(backward_hook)
        return z


class Cell(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin = nn.Linear(dim, dim)
        with torch.no_grad():
            self.lin.weight.mul_(0.4)

    def forward(self, z, x):
        return torch.tanh(self.lin(z) + x)


class SignWithPassThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1)


class Model(nn.Module):
    def __init__(self, dim=10):
        super().__init__()
        self.inp, self.out = nn.Linear(5, dim), nn.Linear(dim, 2)
        self.core = FixedPoint(Cell(dim))

    def forward(self, x):
        return self.out(self.core(SignWithPassThrough.apply(self.inp(x))))


torch.manual_seed(0)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(20):
    x = torch.randn(32, 5)
    loss = F.cross_entropy(model(x), (x[:, 0] > x[:, 1]).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 4:
        with torch.no_grad():
            probe = torch.randn(64, 5)
            hit = (model(probe).argmax(1) == (probe[:, 0] > probe[:, 1]).long()).float().mean()
        print(step, round(loss.item(), 4), f"{hit.item():.2f}")
