"""Multi-task regression with learned homoscedastic uncertainty weights."""
import torch
import torch.nn as nn

torch.manual_seed(31)


class MultiTaskLoss(nn.Module):
    def __init__(self, n_tasks):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(n_tasks))

    def forward(self, losses):
        losses = torch.stack(losses)
        return (torch.exp(-self.log_vars) * losses + self.log_vars).sum()


class SharedTrunk(nn.Module):
    def __init__(self, n_tasks=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 48), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(48, 1) for _ in range(n_tasks))

    def forward(self, x):
        h = self.trunk(x)
        return [head(h) for head in self.heads]


def make_tasks(n=300):
    x = torch.randn(n, 8)
    noise = [0.1, 1.0, 4.0]
    ys = [x[:, k:k + 1] * 2 + s * torch.randn(n, 1) for k, s in enumerate(noise)]
    return x, ys


def train(epochs=150):
    x, ys = make_tasks()
    model = SharedTrunk()
    weighting = MultiTaskLoss(3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    mse = nn.MSELoss()
    for epoch in range(epochs):
        losses = [mse(p, y) for p, y in zip(model(x), ys)]
        total = weighting(losses)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        if epoch % 50 == 49:
            sigmas = torch.exp(0.5 * weighting.log_vars).tolist()
            print(f"epoch {epoch + 1}", [f"{l.item():.3f}" for l in losses],
                  "sigma", [f"{s:.3f}" for s in sigmas])


train()
