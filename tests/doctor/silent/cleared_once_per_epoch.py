import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(3):
    opt.zero_grad()
    for step in range(4):
        loss = net(torch.randn(5, 4)).pow(2).mean()
        loss.backward()  # zero-grad-misuse: zero-grad
        opt.step()
