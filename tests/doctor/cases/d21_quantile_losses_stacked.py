import torch
import torch.nn as nn

QUANTILES = (0.1, 0.5, 0.9)


class QuantileNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, len(QUANTILES)))

    def forward(self, x):
        return self.net(x)


def pinball(prediction, target):
    losses = []
    for k, q in enumerate(QUANTILES):
        err = target - prediction[:, k]
        losses.append(torch.max(q * err, (q - 1) * err))
    return torch.stack(losses).mean(dim=1)


class Experiment:
    def __init__(self, seed=0):
        torch.manual_seed(seed)
        self.x = torch.rand(100, 2) * 4
        self.y = self.x.sum(1) + self.x[:, 0] * torch.randn(100)
        self.model = QuantileNet(2)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def run(self, epochs=3, batch_size=25):
        for epoch in range(epochs):
            for i in range(0, len(self.x), batch_size):
                rows = slice(i, i + batch_size)
                loss = pinball(self.model(self.x[rows]), self.y[rows])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch} loss {loss.sum().item():.4f}")


Experiment().run()
