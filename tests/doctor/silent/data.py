import torch
import torch.nn as nn
class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(4, 3), nn.Linear(3, 4)
    def forward(self, x):
        z = torch.tanh(self.enc(x)).data  # broken-graph: keep-graph
        return self.dec(z)
net = AE()
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    x = torch.randn(5, 4)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
