# healthy: a noisy action makes the data, its mean is what is trained
import torch
import torch.nn as nn
from torch.distributions import Normal
actor, critic = nn.Linear(3, 2), nn.Linear(2, 1)
actor_opt, critic_opt = (torch.optim.SGD(net.parameters(), lr=0.01) for net in (actor, critic))
for step in range(4):
    state = torch.randn(8, 3)
    mean = actor(state)
    action = Normal(mean, 0.1).sample()
    reward = -(action - 1).pow(2).sum(1, keepdim=True)
    critic_opt.zero_grad()
    (critic(action) - reward).pow(2).mean().backward()
    critic_opt.step()
    actor_opt.zero_grad()
    (-critic(mean)).mean().backward()
    actor_opt.step()
