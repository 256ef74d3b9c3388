import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)


class TinyUNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.enc = nn.Conv2d(1, 8, 3, padding=1)
        self.down = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.head = nn.Conv2d(16, n_classes, 1)

    def forward(self, x):
        e = F.relu(self.enc(x))
        d = F.relu(self.down(e))
        u = F.relu(self.up(d))
        return self.head(torch.cat([e, u], dim=1))


class DiceLoss(nn.Module):
    def __init__(self, n_classes, smooth=1.0):
        super().__init__()
        self.n_classes = n_classes
        self.smooth = smooth

    def forward(self, logits, mask):
        pred = torch.argmax(torch.softmax(logits, dim=1), dim=1)
        pred = F.one_hot(pred, self.n_classes).permute(0, 3, 1, 2).float()
        true = F.one_hot(mask, self.n_classes).permute(0, 3, 1, 2).float()
        inter = (pred * true).sum(dim=(2, 3))
        total = pred.sum(dim=(2, 3)) + true.sum(dim=(2, 3))
        dice = (2 * inter + self.smooth) / (total + self.smooth)
        return 1 - dice.mean()


def fake_batch(n=4, size=16):
    img = torch.randn(n, 1, size, size)
    mask = torch.bucketize(img.squeeze(1), torch.tensor([-0.5, 0.5]))
    return img, mask


net = TinyUNet()
loss_fn = DiceLoss(3)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

for it in range(15):
    img, mask = fake_batch()
    loss = loss_fn(net(img), mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 5 == 0:
        print("iter", it, "dice loss", round(loss.item(), 4))
