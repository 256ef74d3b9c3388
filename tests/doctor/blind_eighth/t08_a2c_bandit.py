"""Advantage actor-critic on a contextual bandit (one-step episodes)."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(7)


class ActorCritic(nn.Module):
    def __init__(self, n_obs=4, n_act=3, hidden=32):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, n_act))
        self.critic = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, obs):
        return Categorical(logits=self.actor(obs)), self.critic(obs).squeeze(-1)


class Bandit:
    def __init__(self):
        self.w = torch.randn(4, 3)

    def reset(self, n):
        self.obs = torch.randn(n, 4)
        return self.obs

    def step(self, action):
        scores = self.obs @ self.w
        best = scores.argmax(dim=1)
        return (action == best).float() * 2.0 - 1.0


env = Bandit()
net = ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
entropy_coef, value_coef = 0.01, 0.25

for update in range(300):
    obs = env.reset(64)
    dist, value = net(obs)
    action = dist.sample()
    reward = env.step(action)

    advantage = reward - value
    policy_loss = -(dist.log_prob(action) * advantage).mean()
    value_loss = advantage.pow(2).mean()
    loss = policy_loss + value_coef * value_loss - entropy_coef * dist.entropy().mean()

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    if update % 60 == 59:
        print(f"update {update + 1} reward {reward.mean():.3f} "
              f"value {value.mean():.3f} value_loss {value_loss.item():.3f}")
