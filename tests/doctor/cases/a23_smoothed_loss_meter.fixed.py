import torch
import torch.nn as nn
import torch.nn.functional as F


class SmoothedValue:
    """Exponential moving average for the progress line."""

    def __init__(self, decay=0.9):
        self.decay = decay
        self.value = None

    def update(self, x):
        if self.value is None:
            self.value = x
        else:
            self.value = self.decay * self.value + (1 - self.decay) * x

    def __format__(self, spec):
        return format(self.value.item(), spec)


class MetricLogger:
    def __init__(self, **meters):
        self.meters = meters

    def update(self, **values):
        for name, value in values.items():
            self.meters[name].update(value)

    def line(self):
        return " ".join(f"{name} {meter:.4f}" for name, meter in self.meters.items())


class SegmentationNet(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.a = nn.Conv2d(1, channels, 3, padding=1)
        self.b = nn.Conv2d(channels, channels, 3, padding=1)
        self.c = nn.Conv2d(channels, 1, 1)

    def forward(self, x):
        h = F.relu(self.a(x))
        return self.c(F.relu(self.b(h)) + h)


def dice_loss(logits, mask):
    p = torch.sigmoid(logits)
    return 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)


def squares(n, gen, size=12):
    images = torch.zeros(n, 1, size, size)
    corners = torch.randint(0, size - 5, (n, 2), generator=gen)
    for image, (i, j) in zip(images, corners.tolist()):
        image[0, i : i + 5, j : j + 5] = 1.0
    return images + 0.3 * torch.randn(images.shape, generator=gen), images


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(5)
    net = SegmentationNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    logger = MetricLogger(bce=SmoothedValue(), dice=SmoothedValue())
    for it in range(18):
        x, mask = squares(4, gen)
        logits = net(x)
        bce, dice = F.binary_cross_entropy_with_logits(logits, mask), dice_loss(logits, mask)
        opt.zero_grad()
        (bce + 0.5 * dice).backward()
        opt.step()
        logger.update(bce=bce.detach(), dice=dice.detach())
        if it % 6 == 5:
            print(it, logger.line())


if __name__ == "__main__":
    main()
