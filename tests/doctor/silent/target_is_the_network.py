"""The target network is a second name of the network."""

import torch
from torch import nn


class Agent:
    def __init__(self):
        self.critic = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
        self.critic_target = self.critic  # average-of-views: clone
        self.opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def update(self, s, r, s2):
        with torch.no_grad():
            y = r + 0.99 * self.critic_target(s2)
        loss = (self.critic(s) - y).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for p, tp in zip(self.critic.parameters(), self.critic_target.parameters()):
                tp.mul_(0.995).add_(0.005 * p)
        return loss.item()


torch.manual_seed(0)
agent = Agent()
for _ in range(30):
    agent.update(torch.randn(16, 3), torch.randn(16, 1), torch.randn(16, 3))
