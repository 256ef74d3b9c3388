import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)


def blobs(n, size=24):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    imgs, masks = [], []
    for _ in range(n):
        cx, cy = torch.randint(6, size - 6, (2,))
        r = torch.randint(3, 6, (1,))
        m = ((xx - cx) ** 2 + (yy - cy) ** 2 <= r**2).float()
        imgs.append(m + 0.3 * torch.randn(size, size))
        masks.append(m)
    return torch.stack(imgs)[:, None], torch.stack(masks)[:, None]


class TinyUNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.d1 = nn.Conv2d(1, ch, 3, padding=1)
        self.d2 = nn.Conv2d(ch, 2 * ch, 3, padding=1)
        self.u1 = nn.Conv2d(3 * ch, ch, 3, padding=1)
        self.head = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        a = F.relu(self.d1(x))
        b = F.relu(self.d2(F.max_pool2d(a, 2)))
        u = F.interpolate(b, scale_factor=2)
        return torch.sigmoid(self.head(F.relu(self.u1(torch.cat([a, u], 1)))))


class DiceLoss(nn.Module):
    def __init__(self, eps=1.0):
        super().__init__()
        self.eps = eps

    def forward(self, pred, target):
        pred = (pred > 0.5).float()
        inter = (pred * target).sum((1, 2, 3))
        union = pred.sum((1, 2, 3)) + target.sum((1, 2, 3))
        return 1 - ((2 * inter + self.eps) / (union + self.eps)).mean()


images, masks = blobs(64)
net = TinyUNet()
criterion = DiceLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

for epoch in range(8):
    perm = torch.randperm(len(images))
    epoch_loss = 0.0
    for idx in perm.split(16):
        optimizer.zero_grad()
        loss = criterion(net(images[idx]), masks[idx])
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    print(f"epoch {epoch} loss {epoch_loss / 4:.4f}")
