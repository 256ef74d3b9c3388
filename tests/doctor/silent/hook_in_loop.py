import torch
import torch.nn as nn
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    for p in model[0].parameters():
        p.register_hook(lambda g: 0.5 * g)  # repeated-hook: register-once
    opt.zero_grad()
    model(torch.randn(6, 4)).pow(2).mean().backward()
    opt.step()
