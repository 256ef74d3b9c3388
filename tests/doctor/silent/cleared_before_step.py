import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(5):
    loss = net(torch.randn(5, 4)).pow(2).mean()
    loss.backward()
    opt.zero_grad()  # zero-grad-misuse: reorder-step
    opt.step()
