import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


class ChannelScale(nn.Module):
    """Random per-channel gain applied to feature maps while training."""

    def __init__(self, strength=0.2):
        super().__init__()
        self.strength = strength

    def forward(self, maps):
        if not self.training:
            return maps
        gains = 1 + self.strength * torch.randn(maps.size(1))
        for channel, gain in zip(maps.unbind(dim=1), gains):
            channel.mul_(gain)
        return maps


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.scale = ChannelScale()
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(8, 2)

    def forward(self, img):
        x = self.conv1(img)
        x = self.scale(x)
        x = F.relu(self.conv2(x))
        return self.fc(x.mean(dim=(2, 3)))


imgs = torch.randn(48, 1, 12, 12)
labels = (imgs.mean(dim=(1, 2, 3)) > 0).long()
imgs = imgs + (labels * 2 - 1).float().view(-1, 1, 1, 1) * 0.3

net = SmallCNN()
optim = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(15):
    net.train()
    loss = F.cross_entropy(net(imgs), labels)
    optim.zero_grad()
    loss.backward()
    optim.step()
net.eval()
print("loss", loss.item(), "acc", (net(imgs).argmax(1) == labels).float().mean().item())
