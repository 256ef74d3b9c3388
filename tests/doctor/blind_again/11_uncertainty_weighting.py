import torch
import torch.nn as nn
import torch.nn.functional as F


class DepthAndNormals(nn.Module):
    def __init__(self, c=10):
        super().__init__()
        self.shared = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.ReLU())
        self.depth = nn.Conv2d(c, 1, 1)
        self.normal = nn.Conv2d(c, 2, 1)

    def forward(self, x):
        h = self.shared(x)
        return {"depth": self.depth(h), "normal": self.normal(h)}


class UncertaintyLoss(nn.Module):
    """Kendall et al.: every task has a learned log-variance."""

    def __init__(self, names):
        super().__init__()
        self.log_var = nn.ParameterDict({n: nn.Parameter(torch.zeros(())) for n in names})

    def forward(self, pred, target):
        total, report = 0.0, {}
        for name, s in self.log_var.items():
            err = F.mse_loss(pred[name], target[name])
            s = s.item()
            total = total + err * 2.718281828 ** (-s) + s
            report[name] = (err.item(), s)
        return total, report


def scenes(n, size=10):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    a, b = torch.randn(n, 1, 1, 1), torch.randn(n, 1, 1, 1)
    depth = 5 * (a * xx + b * yy)
    normal = torch.cat([a.expand(n, 1, size, size), b.expand(n, 1, size, size)], 1) * 0.2
    return depth / 5 + 0.05 * torch.randn_like(depth), {"depth": depth, "normal": normal}


if __name__ == "__main__":
    torch.manual_seed(66)
    net, criterion = DepthAndNormals(), UncertaintyLoss(["depth", "normal"])
    opt = torch.optim.Adam(list(net.parameters()) + list(criterion.parameters()), lr=0.02)
    for step in range(150):
        img, target = scenes(8)
        loss, report = criterion(net(img), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    for name, (err, s) in report.items():
        print(f"{name}: mse {err:.4f} log-variance {s:.3f}")
