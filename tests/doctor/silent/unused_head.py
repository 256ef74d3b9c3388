import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 2)
    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.a(h), self.b(h)
net = Net()
opt = torch.optim.Adam(net.parameters())
for i in range(4):
    a, b = net(torch.randn(5, 4))
    print(b.detach().mean().item())
    opt.zero_grad()
    a.pow(2).mean().backward()
    opt.step()
