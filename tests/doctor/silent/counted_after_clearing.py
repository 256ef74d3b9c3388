# healthy: the gradient of one loss is measured alone and cleared, then both are sent back
import torch
import torch.nn as nn
trunk, task, aux = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 4)
opt = torch.optim.Adam([*trunk.parameters(), *task.parameters(), *aux.parameters()])
lengths = []
for step in range(5):
    x = torch.randn(6, 4)
    h = torch.tanh(trunk(x))
    task_loss = (task(h) - 1).pow(2).mean()
    aux_loss = (aux(h) - x).pow(2).mean()
    opt.zero_grad()
    task_loss.backward(retain_graph=True)
    lengths.append(trunk.weight.grad.norm().item())
    opt.zero_grad()
    (task_loss + 0.1 * aux_loss).backward()
    opt.step()
