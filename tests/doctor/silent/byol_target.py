import copy
import torch
import torch.nn as nn
online, predictor = nn.Linear(4, 3), nn.Linear(3, 3)
target = copy.deepcopy(online)
opt = torch.optim.SGD([*online.parameters(), *predictor.parameters()], lr=0.1)
for _ in range(5):
    x = torch.randn(6, 4)
    with torch.no_grad():
        goal = target(x + 0.1)
    loss = (predictor(online(x)) - goal).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(target.parameters(), online.parameters()):
            p.lerp_(q, 0.1)
