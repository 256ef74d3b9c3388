import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(30)
torch.set_num_threads(1)
CLIP = 0.2


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.tensor([-0.5]))

    def dist(self, obs):
        return Normal(self.mean(obs), self.log_std.exp())


def observe(n):
    """Difference to the wanted temperature, and the temperature outside."""
    return torch.randn(n, 2)


def reward_of(obs, heat):
    error = obs[:, :1] + 0.3 * obs[:, 1:] + heat
    return -(error ** 2).squeeze(1)


policy = GaussianPolicy()
value = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
value_optimizer = torch.optim.Adam(value.parameters(), lr=1e-2)

for update in range(150):
    obs = observe(128)
    with torch.no_grad():
        action = policy.dist(obs).sample()
    reward = reward_of(obs, action)

    predicted = value(obs).squeeze(1)
    value_loss = (predicted - reward).pow(2).mean()
    value_optimizer.zero_grad()
    value_loss.backward()
    value_optimizer.step()

    advantage = reward - predicted.detach()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    old_log_prob = policy.dist(obs).log_prob(action).sum(-1)
    log_prob = policy.dist(obs).log_prob(action).sum(-1)
    ratio = torch.exp(log_prob - old_log_prob)
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
    policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
    optimizer.zero_grad()
    policy_loss.backward()
    optimizer.step()
    if update % 30 == 0:
        print(update, "mean reward", round(reward.mean().item(), 3))
print("end", round(reward.mean().item(), 3))
