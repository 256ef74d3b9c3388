import torch
import torch.nn as nn
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(4, 4)
        self.register_buffer("table", torch.zeros(4, 4))
    def forward(self, x):
        k = self.key(x)
        with torch.no_grad():
            self.table.mul_(0.9).add_(k.T @ x / len(x))
        return k @ self.table
net = Memory()
opt = torch.optim.Adam(net.parameters())
for _ in range(5):
    loss = net(torch.randn(6, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
