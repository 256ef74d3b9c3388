# healthy: the density of a sample is asked for, exploration, a sample that nothing is trained by
import torch
import torch.nn as nn
from torch.distributions import Normal
policy, value = nn.Linear(3, 2), nn.Linear(5, 1)
opt = torch.optim.Adam([*policy.parameters(), *value.parameters()])
for step in range(4):
    state = torch.randn(8, 3)
    mean = policy(state)
    density = Normal(mean, 0.5)
    action = density.sample()
    reward = -(action - 1).pow(2).sum(1)
    estimate = value(torch.cat([state, action], 1)).squeeze(1)
    advantage = (reward - estimate).detach()
    loss = -(density.log_prob(action).sum(1) * advantage).mean() + (estimate - reward).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
