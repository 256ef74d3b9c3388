import torch
from torch import nn


class RationalCurve(nn.Module):
    """y = (a0 + a1 x + a2 x^2) / (1 + |b1 x + b2 x^2|)"""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.tensor([0.1, 0.5, 0.1]))
        self.b = nn.Parameter(torch.tensor([0.2, 0.3]))

    def forward(self, x):
        num = self.a[0] + self.a[1] * x + self.a[2] * x**2
        den = 1 + (self.b[0] * x + self.b[1] * x**2).abs()
        return num / den


def measure(n, gen):
    x = torch.linspace(-2, 2, n)
    y = (0.3 + 1.2 * x - 0.4 * x**2) / (1 + (0.1 * x + 0.8 * x**2).abs())
    return x, y + 0.01 * torch.randn(n, generator=gen)


def fit_curve(curve, x, y, rounds=5):
    solver = torch.optim.LBFGS(curve.parameters(), lr=0.8, max_iter=8, line_search_fn="strong_wolfe")
    trace = []
    for _ in range(rounds):
        pred = curve(x)
        loss = (pred - y).pow(2).mean()

        def closure():
            solver.zero_grad()
            loss.backward()
            return loss

        solver.step(closure)
        trace.append(loss.item())
    return trace


if __name__ == "__main__":
    gen = torch.Generator().manual_seed(0)
    x, y = measure(80, gen)
    curve = RationalCurve()
    print(["%.5f" % v for v in fit_curve(curve, x, y)])
    print(curve.a.data, curve.b.data)
