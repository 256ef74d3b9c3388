import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(11)


class LineWorld:
    """Walkers on a line, reward for being close to zero."""

    def __init__(self, n):
        self.n = n

    def reset(self):
        self.pos = torch.rand(self.n, 1) * 4 - 2
        return self.pos.clone()

    def step(self, action):
        self.pos = self.pos + (action.float().unsqueeze(1) - 1.0) * 0.3
        return self.pos.clone(), -self.pos.abs().squeeze(1)


class A2C:
    def __init__(self, gamma=0.9):
        self.actor = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 3))
        self.critic = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-2)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-2)
        self.gamma = gamma

    def rollout(self, env, steps=8):
        obs, logps, values, rewards = env.reset(), [], [], []
        for _ in range(steps):
            dist = Categorical(logits=self.actor(obs))
            action = dist.sample()
            logps.append(dist.log_prob(action))
            values.append(self.critic(obs).squeeze(1))
            obs, r = env.step(action)
            rewards.append(r)
        with torch.no_grad():
            ret = self.critic(obs).squeeze(1)
        returns = []
        for r in reversed(rewards):
            ret = r + self.gamma * ret
            returns.insert(0, ret)
        return torch.stack(logps), torch.stack(values), torch.stack(returns)

    def update(self, logps, values, returns):
        advantage = returns - values
        critic_loss = advantage.pow(2).mean()
        actor_loss = -(logps * advantage).mean()

        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        return actor_loss.item(), critic_loss.item()


agent, env = A2C(), LineWorld(64)
for it in range(60):
    logps, values, returns = agent.rollout(env)
    a, c = agent.update(logps, values, returns)
    if it % 15 == 0:
        print(f"{it:3d} actor {a:+.3f} critic {c:.3f} return {returns[0].mean().item():.3f}")
