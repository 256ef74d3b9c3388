import torch
import torch.nn as nn
import torch.nn.functional as F


class Segmenter(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.ReLU())
        self.mask = nn.Conv2d(c, 1, 1)
        self.count = nn.Linear(c, 1)

    def forward(self, img):
        z = self.enc(img)
        return self.mask(z), self.count(z.mean((2, 3)))


class BalancedLoss:
    """Divides every term by a moving average of itself."""

    def __init__(self, momentum=0.9):
        self.momentum = momentum
        self.average = {}

    def __call__(self, **terms):
        total = 0.0
        for name, value in terms.items():
            old = self.average.get(name, value)
            self.average[name] = self.momentum * old + (1 - self.momentum) * value
            total = total + value / self.average[name]
        return total


def blobs(n, size=12):
    img = 0.3 * torch.randn(n, 1, size, size)
    mask = torch.zeros(n, 1, size, size)
    count = torch.zeros(n, 1)
    for i in range(n):
        for _ in range(int(torch.randint(1, 4, (1,)))):
            r, c = torch.randint(0, size - 3, (2,)).tolist()
            mask[i, 0, r:r + 3, c:c + 3] = 1
            count[i] += 1
    return img + mask, mask, count


torch.manual_seed(19)
net = Segmenter()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
criterion = BalancedLoss()
for step in range(30):
    img, mask, count = blobs(8)
    pm, pc = net(img)
    bce = F.binary_cross_entropy_with_logits(pm, mask)
    reg = F.mse_loss(pc, count)
    loss = criterion(mask=bce, count=reg)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("bce", round(bce.item(), 4), "count", round(reg.item(), 4))
