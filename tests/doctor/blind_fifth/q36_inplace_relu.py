import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(18)
torch.set_num_threads(1)


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.relu = nn.ReLU(inplace=True)
        self.down = nn.Sequential()
        if stride != 1 or cin != cout:
            self.down = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.down(x)
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.layers = nn.Sequential(BasicBlock(1, 8), BasicBlock(8, 16, 2), BasicBlock(16, 16))
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        feats = self.layers(x).mean((2, 3))
        feats.mul_(2.0).sub_(0.5)
        return self.fc(feats)


def corners(n, size=12):
    y = torch.randint(0, 4, (n,))
    x = 0.5 * torch.randn(n, 1, size, size)
    h = size // 2
    for i, k in enumerate(y.tolist()):
        x[i, 0, (k // 2) * h : (k // 2) * h + 3, (k % 2) * h : (k % 2) * h + 3] += 1.0 + k * 0.5
    return x, y


x, y = corners(192)
net = ResNet()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
for epoch in range(8):
    total = 0.0
    for xb, yb in zip(x.split(32), y.split(32)):
        loss = F.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 6:.4f}")
