import torch
import torch.nn as nn
class Heads(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.trunk = nn.Linear(4, 4)
        self.heads = {name: nn.Linear(4, 1) for name in names}  # stale-optimizer-params: register-modules
    def forward(self, x):
        h = torch.relu(self.trunk(x))
        return {k: f(h) for k, f in self.heads.items()}
net = Heads(["a", "b"])
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    out = net(torch.randn(5, 4))
    loss = sum(v.pow(2).mean() for v in out.values())
    opt.zero_grad()
    loss.backward()
    opt.step()
