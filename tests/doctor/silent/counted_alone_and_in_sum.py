import torch
import torch.nn as nn
trunk, task, aux = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 4)
opt = torch.optim.Adam([*trunk.parameters(), *task.parameters(), *aux.parameters()])
for step in range(5):
    x = torch.randn(6, 4)
    h = torch.tanh(trunk(x))
    task_loss = (task(h) - 1).pow(2).mean()
    aux_loss = (aux(h) - x).pow(2).mean()
    opt.zero_grad()
    task_loss.backward(retain_graph=True)  # same-loss-twice: remove-extra-backward
    (task_loss + 0.1 * aux_loss).backward()
    opt.step()
