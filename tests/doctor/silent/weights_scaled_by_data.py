import torch
import torch.nn as nn
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = model(torch.randn(6, 4)).pow(2).mean()
    for p in model.parameters():
        p.data.mul_(0.9)  # inplace-after-save: reorder-step
    opt.zero_grad()
    loss.backward()
    opt.step()
