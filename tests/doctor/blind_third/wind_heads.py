import torch
from torch import nn, optim

torch.manual_seed(100)


class WindFarm(nn.Module):
    """Shared weather encoder, one small output head per turbine."""

    def __init__(self, n_weather, n_turbines, hidden=20):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(n_weather, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
        )
        self.heads = [nn.Linear(hidden, 1) for _ in range(n_turbines)]

    def forward(self, weather):
        h = self.encoder(weather)
        return torch.cat([head(h) for head in self.heads], dim=1)


weather = torch.randn(300, 5)
power = torch.stack(
    [
        weather[:, 0].relu() * 2.0,
        weather[:, 1].abs(),
        3.0 + 0.5 * weather[:, 2],
        weather[:, 3] * weather[:, 4] - 2.0,
    ],
    dim=1,
)

farm = WindFarm(5, 4)
optimizer = optim.Adam(farm.parameters(), lr=5e-3)

for epoch in range(150):
    pred = farm(weather)
    loss = (pred - power).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 30 == 0:
        print(f"epoch {epoch:3d}: mse {loss.item():.4f}")

print("per turbine mse", (farm(weather) - power).pow(2).mean(0).tolist())
