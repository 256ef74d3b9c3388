import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)


class AnytimeNet(nn.Module):
    """Yields the logits of each exit as soon as they are known."""

    def __init__(self, channels=(1, 6, 8, 10), classes=4):
        super().__init__()
        self.stages = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.SiLU())
            for a, b in zip(channels, channels[1:])
        )
        self.exits = nn.ModuleList(nn.Linear(b, classes) for b in channels[1:])

    def forward(self, images):
        hidden = images
        for stage, leave in zip(self.stages, self.exits):
            hidden = stage(hidden)
            yield leave(hidden.mean((2, 3)))


def train_epoch(net, loader, optimizer, discounts):
    right = 0
    for images, labels in loader:
        optimizer.zero_grad()
        total = 0.0
        for discount, logits in zip(discounts, net(images)):
            total = total + discount * F.cross_entropy(logits, labels)
        total.backward()
        optimizer.step()
        right += (logits.argmax(1) == labels).sum().item()
    return total, right


def main():
    images = torch.randn(48, 1, 8, 8)
    labels = (images[:, 0, :4].mean((1, 2)) > 0).long() + 2 * (images[:, 0, 4:].mean((1, 2)) > 0).long()
    loader = DataLoader(TensorDataset(images, labels), batch_size=16)
    net = AnytimeNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(2):
        loss, right = train_epoch(net, loader, optimizer, discounts=(0.3, 0.6, 1.0))
        print(f"epoch {epoch} loss {loss:.3f} right {right}/48")


main()
