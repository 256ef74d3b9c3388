import torch
from torch import nn
from torch.distributions import Poisson

torch.manual_seed(21)

STATIONS = ["harbour", "hill", "airport"]


def station_data(k, n=120):
    pressure = torch.randn(n, 2)
    rate = torch.exp(0.4 * pressure[:, 0] - 0.3 * pressure[:, 1] + 0.2 * k)
    return pressure, torch.poisson(rate)


class RateModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(2, 8)
        self.heads = nn.ModuleDict({name: nn.Linear(8, 1) for name in STATIONS})

    def forward(self, name, x):
        return self.heads[name](torch.tanh(self.shared(x))).squeeze(-1)


data = {name: station_data(k) for k, name in enumerate(STATIONS)}
model = RateModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(30):
    losses = []
    for name, (x, counts) in data.items():
        log_rate = model(name, x)
        losses.append(-Poisson(log_rate.exp()).log_prob(counts).mean())

    total = torch.tensor(losses).mean()
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch:3d}  nll {total.item():.4f}")
