import torch
import torch.nn as nn


class Flow(nn.Module):
    """y = x + g(x); invertible while the Jacobian of g stays small."""

    def __init__(self, dim=3):
        super().__init__()
        self.g = nn.Sequential(nn.Linear(dim, 16), nn.ELU(), nn.Linear(16, dim))

    def forward(self, x):
        return x + self.g(x)


def jacobian(y, x):
    rows = []
    for i in range(y.numel()):
        row = torch.autograd.grad(y[i], x, retain_graph=True)[0]
        rows.append(row)
    return torch.stack(rows)


def condition_number(flow, point):
    point = point.clone().requires_grad_(True)
    out = flow(point)
    J = jacobian(out, point)
    s = torch.linalg.svdvals(J)
    return (s.max() / s.min()).item()


def nll(flow, x):
    z = flow(x)
    return 0.5 * z.pow(2).sum(1).mean()


def main():
    torch.manual_seed(0)
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=1e-2)
    data = torch.randn(64, 3) @ torch.diag(torch.tensor([1.0, 0.5, 0.2])) + 1.0
    for step in range(20):
        opt.zero_grad()
        loss = nll(flow, data)
        loss.backward()
        opt.step()
        if step % 10 == 9:
            print(step, loss.item(), "cond", condition_number(flow, data[0]))


if __name__ == "__main__":
    main()
