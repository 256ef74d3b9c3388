import torch
import torch.nn as nn
trunk = nn.Linear(4, 8)
heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(3))
opt = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.01)
for step in range(5):
    h = torch.tanh(trunk(torch.randn(6, 4)))
    opt.zero_grad()
    total = 0.0
    for k, head in enumerate(heads):
        total = total + 0.5 * head(h).pow(2).mean()
        total.backward(retain_graph=k < 2)  # same-loss-twice: remove-extra-backward
    opt.step()
