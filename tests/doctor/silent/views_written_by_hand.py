import torch
import torch.nn as nn
torch.manual_seed(0)
# copies are right; views are used to write by hand
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
start = {n: p.detach().clone() for n, p in net.named_parameters()}
views = [p.data for p in net.parameters()]
for i in range(12):
    opt.zero_grad()
    net(torch.randn(16, 4)).pow(2).mean().backward()
    opt.step()
    for v in views:
        v.clamp_(-1, 1)
    print(i, sum((p - start[n]).norm().item() for n, p in net.named_parameters()))
