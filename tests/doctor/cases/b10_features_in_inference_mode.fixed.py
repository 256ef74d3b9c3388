import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(3, 8, 5, stride=2), nn.ReLU(), nn.Conv1d(8, 16, 5, stride=2), nn.ReLU()
        )

    def forward(self, x):
        return self.layers(x).mean(-1)


class LinearProbe:
    """Trains a linear layer on the features of a frozen backbone."""

    def __init__(self, backbone, classes, lr=0.5):
        self.backbone = backbone.eval().requires_grad_(False)
        self.linear = nn.Linear(16, classes)
        self.optimizer = torch.optim.SGD(self.linear.parameters(), lr=lr)
        self.features = None

    def prepare(self, x):
        if self.features is None:
            with torch.no_grad():
                features = self.backbone(x)
                self.features = (features - features.mean(0)) / features.std(0)
        return self.features

    def fit(self, x, y, epochs):
        features = self.prepare(x)
        for epoch in range(epochs):
            logits = self.linear(features)
            loss = nn.functional.cross_entropy(logits, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if epoch % 5 == 0:
                print(f"epoch {epoch} loss {loss.item():.4f}")


def main():
    torch.manual_seed(4)
    y = torch.randint(0, 3, (90,))
    x = torch.randn(90, 3, 32) + y[:, None, None].float()
    probe = LinearProbe(Backbone(), classes=3)
    probe.fit(x, y, epochs=20)


main()
