# healthy: writes through .data after the step, before training, and into what nothing has saved
import torch
import torch.nn as nn
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))
shadow = [p.detach().clone() for p in model.parameters()]
model[0].weight.data.uniform_(-0.1, 0.1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    first, second = model(torch.randn(6, 4)), model(torch.randn(6, 4))
    loss = first.pow(2).mean() + second.mean()
    for mean, p in zip(shadow, model.parameters()):
        mean.data.lerp_(p.data, 0.1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    for p in model.parameters():
        p.data.clamp_(-1, 1)
