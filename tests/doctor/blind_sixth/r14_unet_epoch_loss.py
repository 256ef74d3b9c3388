import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TinyUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down1 = nn.Conv2d(1, c, 3, padding=1)
        self.down2 = nn.Conv2d(c, 2 * c, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(2 * c, 2 * c, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.head = nn.Conv2d(2 * c, 1, 1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = F.relu(self.mid(F.relu(self.down2(a))))
        return self.head(torch.cat([a, F.relu(self.up(b))], 1))


def blobs(n, size=16):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cx, cy = torch.randint(3, size - 3, (2, n, 1, 1))
    mask = ((xx - cx) ** 2 + (yy - cy) ** 2 < 10).float().unsqueeze(1)
    return mask + 0.5 * torch.randn_like(mask), mask


class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total, self.n = 0.0, 0

    def add(self, value, n=1):
        self.total = self.total + value * n
        self.n += n

    @property
    def mean(self):
        return float(self.total / self.n)


net = TinyUNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
images, masks = blobs(128)
train_meter, valid_meter = Meter(), Meter()

for epoch in range(2):
    train_meter.reset()
    valid_meter.reset()
    for x, m in zip(images[:96].split(8), masks[:96].split(8)):
        loss = F.binary_cross_entropy_with_logits(net(x), m)
        opt.zero_grad()
        loss.backward()
        opt.step()
        train_meter.add(loss.item(), len(x))
    net.eval()
    for x, m in zip(images[96:].split(4), masks[96:].split(4)):
        valid_meter.add(F.binary_cross_entropy_with_logits(net(x), m), len(x))
    net.train()
    print(f"epoch {epoch} train {train_meter.mean:.3f} valid {valid_meter.mean:.3f}")
