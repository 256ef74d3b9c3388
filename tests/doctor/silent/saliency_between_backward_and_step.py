import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
images, labels = torch.randn(64, 1, 12, 12), torch.randint(0, 3, (64,))
maps = []
for epoch in range(3):
    for i in range(0, 64, 16):
        x, y = images[i:i+16], labels[i:i+16]
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        probe = images[:1].clone().requires_grad_()
        net(probe)[0, 1].backward()  # zero-grad-misuse: remove-extra-backward
        maps.append(probe.grad.abs().max().item())
        opt.step()
    print(epoch, loss.item(), maps[-1])
