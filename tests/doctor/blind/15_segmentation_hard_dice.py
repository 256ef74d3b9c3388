import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)


def blobs(n, size=16):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    c = torch.randint(4, size - 4, (n, 2))
    r = torch.randint(2, 5, (n,))
    d2 = (yy - c[:, 0, None, None]) ** 2 + (xx - c[:, 1, None, None]) ** 2
    mask = (d2 <= r[:, None, None] ** 2).float().unsqueeze(1)
    return mask + 0.4 * torch.randn(n, 1, size, size), mask


class TinyUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1 = nn.Conv2d(1, 8, 3, padding=1)
        self.d2 = nn.Conv2d(8, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.out = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        a = F.relu(self.d1(x), inplace=True)
        b = F.relu(self.d2(F.max_pool2d(a, 2)), inplace=True)
        return self.out(torch.cat([a, self.up(b)], 1))


class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0, threshold=0.5):
        super().__init__()
        self.smooth, self.threshold = smooth, threshold

    def forward(self, logits, target):
        probs = torch.sigmoid(logits)
        pred = (probs > self.threshold).float()
        inter = (pred * target).sum((1, 2, 3))
        union = pred.sum((1, 2, 3)) + target.sum((1, 2, 3))
        return 1 - ((2 * inter + self.smooth) / (union + self.smooth)).mean()


@torch.no_grad()
def iou(model, x, y):
    p = torch.sigmoid(model(x)) > 0.5
    t = y > 0.5
    return ((p & t).sum() / (p | t).sum().clamp(min=1)).item()


model, criterion = TinyUNet(), DiceLoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
val = blobs(32)
for step in range(60):
    x, y = blobs(16)
    loss = criterion(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 0:
        print(f"step {step} dice loss {loss.item():.3f} val IoU {iou(model, *val):.3f}")
