import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
for step in range(4):
    opt.zero_grad()
    loss = net(torch.randn(5, 4)).pow(2).mean()
    opt.step()  # zero-grad-misuse: reorder-step
    loss.backward()
