# Multi-task regression with learned task uncertainties. Every task has its own data and its own
# network, so the losses are sent back one after the other to keep the peak memory small.
import torch
import torch.nn as nn

TASKS = {"depth": 4, "albedo": 6, "roughness": 3}


class TaskNet(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, 20), nn.GELU(), nn.Linear(20, 1))

    def forward(self, x):
        return self.body(x).squeeze(-1)


class UncertaintyWeighting(nn.Module):
    """Kendall-style weights: exp(-s) * loss + s."""

    def __init__(self, names):
        super().__init__()
        self.names = list(names)
        self.log_var = nn.Parameter(torch.zeros(len(self.names)))

    def forward(self):
        precision = torch.exp(-self.log_var)
        return {name: (precision[i], self.log_var[i]) for i, name in enumerate(self.names)}


def batch_for(name, n=12):
    x = torch.randn(n, TASKS[name])
    return x, x.mean(1).sin() * (1 + list(TASKS).index(name))


def main():
    torch.manual_seed(0)
    nets = nn.ModuleDict({name: TaskNet(width) for name, width in TASKS.items()})
    weighting = UncertaintyWeighting(TASKS)
    optimizer = torch.optim.Adam([*nets.parameters(), *weighting.parameters()], lr=2e-3)
    for step in range(5):
        optimizer.zero_grad()
        weights = weighting()
        report = {}
        for name in TASKS:
            x, y = batch_for(name)
            raw = nn.functional.mse_loss(nets[name](x), y)
            precision, log_var = weights[name]
            loss = precision * raw + log_var
            loss.backward()
            report[name] = raw.item()
        optimizer.step()
        print(step, {k: round(v, 3) for k, v in report.items()})


if __name__ == "__main__":
    main()
