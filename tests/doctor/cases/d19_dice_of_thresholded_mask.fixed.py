import torch
import torch.nn as nn


class SmallUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.mid = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
        self.up = nn.Upsample(scale_factor=2)
        self.last = nn.Conv2d(9, 1, 1)

    def forward(self, x):
        h = self.up(self.mid(self.down(x)))
        return torch.sigmoid(self.last(torch.cat([h, x], 1)))


class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth

    def forward(self, probs, target):
        mask = probs
        overlap = (mask * target).sum(dim=(1, 2, 3))
        size = mask.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
        return 1 - ((2 * overlap + self.smooth) / (size + self.smooth)).mean()


def blobs(n):
    ys, xs = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    center = torch.rand(n, 2, 1, 1) * 10 + 3
    target = ((ys - center[:, :1]) ** 2 + (xs - center[:, 1:]) ** 2 < 12).float()
    return target + 0.2 * torch.randn(n, 1, 16, 16), target


def main():
    torch.manual_seed(0)
    net, criterion = SmallUNet(), DiceLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(5):
        images, masks = blobs(4)
        optimizer.zero_grad()
        loss = criterion(net(images), masks)
        loss.backward()
        optimizer.step()
        print(step, "dice loss", loss.item())


main()
