"""Advantage actor critic on a corridor: walk to the right end."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(0)
LENGTH, HORIZON, GAMMA = 6, 16, 0.95


class Corridor:
    def __init__(self, n):
        self.n = n

    def reset(self):
        self.pos = torch.zeros(self.n, dtype=torch.long)
        return F.one_hot(self.pos, LENGTH).float()

    def step(self, action):
        self.pos = (self.pos + 2 * action - 1).clamp(0, LENGTH - 1)
        at_end = (self.pos == LENGTH - 1).float()
        self.pos[at_end.bool()] = 0
        return F.one_hot(self.pos, LENGTH).float(), at_end


class ActorCritic(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(LENGTH, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        self.critic = nn.Sequential(nn.Linear(LENGTH, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, obs):
        return Categorical(logits=self.actor(obs)), self.critic(obs).squeeze(-1)


env, net = Corridor(16), ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for update in range(30):
    obs = env.reset()
    logps, values, rewards, entropies = [], [], [], []
    for _ in range(HORIZON):
        dist, value = net(obs)
        action = dist.sample()
        obs, reward = env.step(action)
        logps.append(dist.log_prob(action))
        entropies.append(dist.entropy())
        values.append(value)
        rewards.append(reward)

    with torch.no_grad():
        R = net(obs)[1]
    returns = []
    for r in reversed(rewards):
        R = r + GAMMA * R
        returns.append(R)
    returns = torch.stack(returns[::-1])
    values, logps = torch.stack(values), torch.stack(logps)
    advantages = returns - values
    policy_loss = -(logps * advantages).mean()
    value_loss = advantages.pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * torch.stack(entropies).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if update % 10 == 9:
        print(f"update {update + 1} reward {torch.stack(rewards).sum(0).mean().item():.2f} value error {value_loss.item():.3f}")
