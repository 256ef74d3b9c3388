import torch
import torch.nn as nn
G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
D = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for it in range(12):
    fake = G(torch.randn(6, 2))
    od.zero_grad()
    (D(fake.detach()).mean() - D(torch.randn(6, 3)).mean()).backward()
    od.step()
    if it % 3 == 0:
        og.zero_grad()
        (-D(fake).mean()).backward()
        og.step()
