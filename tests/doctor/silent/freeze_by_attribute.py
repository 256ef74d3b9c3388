import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 1)
        for layer in self.encoder:
            layer.requires_grad = False  # freeze-without-effect: freeze-parameters
    def forward(self, x):
        return self.head(self.encoder(x))
net = Net()
opt = torch.optim.Adam(net.parameters())
for step in range(4):
    opt.zero_grad()
    net(torch.randn(6, 4)).pow(2).mean().backward()
    opt.step()
