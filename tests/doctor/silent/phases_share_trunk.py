# healthy: the trunk is to have the gradients of both losses, and steps last
import torch
import torch.nn as nn
trunk, task, critic = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
opts = [torch.optim.SGD(part.parameters(), lr=0.01) for part in (task, critic, trunk)]
for step in range(6):
    for opt in opts:
        opt.zero_grad()
    h = torch.tanh(trunk(torch.randn(6, 4)))
    task(h).pow(2).mean().backward()
    opts[0].step()
    h = torch.tanh(trunk(torch.randn(6, 4)))
    (0.1 * (critic(h) - 1).pow(2).mean()).backward()
    opts[2].step()
