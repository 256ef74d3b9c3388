import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
running, seen = 0.0, 0
for step in range(8):
    opt.zero_grad()
    loss = net(torch.randn(5, 4)).pow(2).mean()
    loss.backward()
    opt.step()
    running += loss  # accumulated-history: item-for-logging
    seen += 1
    if seen % 4 == 0:
        print(float(running) / 4)
        running = 0.0
