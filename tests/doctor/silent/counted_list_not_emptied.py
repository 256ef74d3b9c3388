import torch
import torch.nn as nn
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
losses = []
for step in range(5):
    losses.append(model(torch.randn(6, 4)).sigmoid().mean())  # same-loss-twice: reset-state
    opt.zero_grad()
    torch.stack(losses).sum().backward(retain_graph=True)
    opt.step()
