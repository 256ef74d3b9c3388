import torch
import torch.nn as nn

torch.manual_seed(4)


class SoftF1:
    """Differentiable F1; the counts are kept so that small batches do not make it jumpy."""

    def __init__(self, labels, smooth=1e-6):
        self.labels, self.smooth = labels, smooth
        self.reset()

    def reset(self):
        self.tp = torch.zeros(self.labels)
        self.fp = torch.zeros(self.labels)
        self.fn = torch.zeros(self.labels)

    def update(self, probs, target):
        self.tp = self.tp.detach() + (probs * target).sum(0)
        self.fp = self.fp.detach() + (probs * (1 - target)).sum(0)
        self.fn = self.fn.detach() + ((1 - probs) * target).sum(0)

    def loss(self):
        f1 = 2 * self.tp / (2 * self.tp + self.fp + self.fn + self.smooth)
        return 1 - f1.mean()


class TagNet(nn.Module):
    def __init__(self, features=10, labels=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 24), nn.Tanh(), nn.Linear(24, labels), nn.Sigmoid())

    def forward(self, x):
        return self.net(x)


def train(epochs=2):
    model, metric = TagNet(), SoftF1(labels=5)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    x = torch.randn(40, 10)
    y = (x[:, :5] + x[:, 5:] > 0).float()
    for epoch in range(epochs):
        metric.reset()
        for xb, yb in zip(x.split(8), y.split(8)):
            metric.update(model(xb), yb)
            loss = metric.loss()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: soft F1 {1 - loss.item():.3f}")


train()
