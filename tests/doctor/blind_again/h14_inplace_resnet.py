import torch
import torch.nn as nn
import torch.nn.functional as F


class PreActBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.bn1, self.bn2 = nn.BatchNorm2d(c), nn.BatchNorm2d(c)
        self.c1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.c2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.c1(self.act(self.bn1(x)))
        out = self.c2(self.act(self.bn2(out)))
        out += x
        return out


class Net(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.stem = nn.Conv2d(1, c, 3, padding=1)
        self.stages = nn.Sequential(PreActBlock(c), nn.AvgPool2d(2), PreActBlock(c))
        self.fc = nn.Linear(c, 2)

    def forward(self, x):
        h = F.relu_(self.stages(self.stem(x)))
        return self.fc(h.mean((2, 3)))


def textures(n, s=10):
    y = torch.randint(0, 2, (n,))
    x = 0.5 * torch.randn(n, 1, s, s)
    x[y == 0, :, ::2] += 1
    x[y == 1, :, :, ::2] += 1
    return x, y


torch.manual_seed(8)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(30):
    x, y = textures(32)
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 4))
