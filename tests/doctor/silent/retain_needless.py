import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
for step in range(6):
    opt.zero_grad()
    loss = net(torch.randn(5, 4)).pow(2).mean()
    loss.backward(retain_graph=True)  # needless-retain: drop-retain
    opt.step()
