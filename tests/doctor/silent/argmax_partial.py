import torch
import torch.nn as nn
class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 2)
        self.experts = nn.ModuleList(nn.Linear(4, 3) for _ in range(2))
    def forward(self, x):
        choice = self.gate(x).softmax(-1).argmax(-1)  # broken-graph: keep-graph
        out = torch.stack([e(x) for e in self.experts], 1)
        return out[torch.arange(len(x)), choice]
net = Router()
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    loss = net(torch.randn(6, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
