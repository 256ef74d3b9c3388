import torch
import torch.nn as nn
import torch.nn.functional as F


class HyperNetwork(nn.Module):
    """Task embedding -> weights of a small regressor."""

    def __init__(self, n_tasks, d_task=6, d_in=3, d_hid=8):
        super().__init__()
        self.tasks = nn.Embedding(n_tasks, d_task)
        self.shapes = [(d_hid, d_in), (d_hid,), (1, d_hid), (1,)]
        total = sum(torch.Size(s).numel() for s in self.shapes)
        self.gen = nn.Sequential(nn.Linear(d_task, 32), nn.ReLU(), nn.Linear(32, total))

    def forward(self, task):
        flat = self.gen(self.tasks(torch.tensor(task))) * 0.3
        out, start = [], 0
        for shape in self.shapes:
            n = torch.Size(shape).numel()
            out.append(flat[start:start + n].view(shape))
            start += n
        return out


def regress(x, weights):
    w1, b1, w2, b2 = weights
    return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2).squeeze(-1)


def targets(task, x):
    return (x * torch.tensor([1.0, -1.0, 0.5])).sum(-1) * (task + 1) / 2


def fit_task(hyper, opt, task, steps):
    weights = hyper(task)
    curve = []
    for _ in range(steps):
        x = torch.randn(24, 3)
        loss = F.mse_loss(regress(x, weights), targets(task, x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        curve.append(loss.item())
    return curve


def main():
    torch.manual_seed(0)
    hyper = HyperNetwork(n_tasks=3)
    opt = torch.optim.Adam(hyper.parameters(), lr=5e-3)
    for task in range(3):
        curve = fit_task(hyper, opt, task, steps=5)
        print(task, [round(c, 3) for c in curve])


if __name__ == "__main__":
    main()
