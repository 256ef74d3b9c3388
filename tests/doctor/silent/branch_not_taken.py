import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.extra = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x, deep=False):
        h = self.a(x)
        return self.extra(h) if deep else h
net = Net()
opt = torch.optim.Adam(net.parameters())
for i in range(4):
    loss = net(torch.randn(5, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
