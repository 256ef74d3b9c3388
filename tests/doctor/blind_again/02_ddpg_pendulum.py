import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 1), nn.Tanh())

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], 1))


def soft_update(target, source, tau):
    with torch.no_grad():
        for t, s in zip(target.parameters(), source.parameters()):
            t.lerp_(s, tau)


class DDPG:
    def __init__(self, gamma=0.9, tau=0.05):
        self.actor, self.critic = Actor(), Critic()
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.a_opt = torch.optim.Adam(self.actor.parameters(), lr=2e-3)
        self.c_opt = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.gamma, self.tau = gamma, tau

    def clear(self):
        self.a_opt.zero_grad()
        self.c_opt.zero_grad()

    def learn(self, s, a, r, s2):
        self.clear()
        actor_loss = -self.critic(s, self.actor(s)).mean()
        actor_loss.backward()
        self.a_opt.step()

        with torch.no_grad():
            y = r + self.gamma * self.critic_t(s2, self.actor_t(s2))
        critic_loss = F.mse_loss(self.critic(s, a), y)
        critic_loss.backward()
        self.c_opt.step()

        soft_update(self.actor_t, self.actor, self.tau)
        soft_update(self.critic_t, self.critic, self.tau)
        return critic_loss.item()


def transitions(n):
    th, dth = (torch.rand(n) * 2 - 1) * 3.14, torch.randn(n)
    a = torch.rand(n, 1) * 2 - 1
    dth2 = dth + 0.1 * (torch.sin(th) + a[:, 0])
    th2 = th + 0.1 * dth2
    obs = lambda t, d: torch.stack([t.cos(), t.sin(), d], 1)
    r = -(th.pow(2) + 0.1 * dth.pow(2)).unsqueeze(1) * 0.1
    return obs(th, dth), a, r, obs(th2, dth2)


torch.manual_seed(71)
agent = DDPG()
losses = [agent.learn(*transitions(64)) for _ in range(120)]
print(f"critic loss, last ten: {sum(losses[-10:]) / 10:.4f}")
