import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
net[0].requires_grad_(False)
opt = torch.optim.SGD(net[2].parameters(), lr=0.1)
for epoch in range(4):
    if epoch == 1:
        net[0].requires_grad_(True)
        opt.add_param_group({"params": net[0].parameters()})
    for _ in range(4):
        loss = nn.functional.cross_entropy(net(torch.randn(6, 4)), torch.randint(0, 2, (6,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
