import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        self.bn = nn.BatchNorm2d(16)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x))).mean(dim=(2, 3))


class PlanktonNet(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone.requires_grad_(False)
        self.head = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, classes))

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()  # batch statistics of the pretraining data
        return self

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x)
        return self.head(features)


def images(n):
    y = torch.randint(0, 3, (n,))
    x = torch.rand(n, 1, 10, 10) * (0.4 + 0.6 * y.float()).view(-1, 1, 1, 1)
    return x, y


def main():
    torch.manual_seed(71)
    x, y = images(240)
    model = PlanktonNet(Backbone(), 3)
    opt = torch.optim.Adam(model.head.parameters(), lr=1e-2)
    for epoch in range(40):
        model.train()
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if epoch % 10 == 9:
            model.eval()
            with torch.no_grad():
                acc = (model(x).argmax(1) == y).float().mean().item()
            print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
    return model


if __name__ == "__main__":
    model = main()
