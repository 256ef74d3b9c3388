import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
all_losses = []
for step in range(10):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)  # needless-retain: drop-retain
    opt.step()
    all_losses.append(loss)  # accumulated-history: item-for-logging
