import torch
import torch.nn as nn
import torch.nn.functional as F


class BasicBlock(nn.Module):
    def __init__(self, in_channels, channels, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity()
        if stride != 1 or in_channels != channels:
            self.shortcut = nn.Conv2d(in_channels, channels, 1, stride=stride, bias=False)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        out += self.shortcut(x)
        return out


class SmallResNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.layers = nn.Sequential(BasicBlock(8, 8), BasicBlock(8, 12, stride=2))
        self.fc = nn.Linear(12, classes)

    def forward(self, x):
        h = self.layers(self.stem(x))
        return self.fc(h.mean(dim=(2, 3)))


def striped_images(n, gen):
    label = torch.randint(0, 4, (n,), generator=gen)
    axis = torch.arange(10).float()
    wave = torch.sin(axis * (0.5 + label[:, None]))
    images = wave[:, None, :, None].expand(n, 3, 10, 10)
    return images + 0.3 * torch.randn(n, 3, 10, 10, generator=gen), label


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    model = SmallResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    model.train()
    for step in range(15):
        images, labels = striped_images(16, gen)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(step, round(loss.item(), 4))


if __name__ == "__main__":
    main()
