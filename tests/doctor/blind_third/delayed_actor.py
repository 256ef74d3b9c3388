import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(85)


def net(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = net(4, 1), net(4, 1)

    def forward(self, s, a):
        sa = torch.cat([s, a], 1)
        return self.q1(sa).squeeze(1), self.q2(sa).squeeze(1)


class Agent:
    def __init__(self, tau=0.02, delay=2):
        self.actor, self.critic = net(3, 1), Critic()
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        for p in [*self.actor_t.parameters(), *self.critic_t.parameters()]:
            p.requires_grad = False
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        self.tau, self.delay, self.t = tau, delay, 0

    def update(self, s, a, r, s2):
        self.t += 1
        with torch.no_grad():
            noise = (0.1 * torch.randn_like(a)).clamp(-0.2, 0.2)
            q1, q2 = self.critic_t(s2, torch.tanh(self.actor_t(s2)) + noise)
            goal = r + 0.9 * torch.min(q1, q2)
        q1, q2 = self.critic(s, a)
        critic_loss = F.mse_loss(q1, goal) + F.mse_loss(q2, goal)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        if self.t % self.delay == 0:
            actor_loss = -self.critic(s, torch.tanh(self.actor(s)))[0].mean()
            self.actor_opt.zero_grad()
            actor_loss.backward()
            self.actor_opt.step()
            self.follow(self.actor_t, self.actor)
            self.follow(self.critic_t, self.critic)
        return critic_loss.item()

    @torch.no_grad()
    def follow(self, slow, fast):
        for w, p in zip(slow.parameters(), fast.parameters()):
            w.lerp_(p, self.tau)


agent = Agent()
for it in range(150):
    s = torch.randn(64, 3)
    a = torch.rand(64, 1) * 2 - 1
    r = 1 - (a - torch.tanh(s[:, :1])).abs().squeeze(1)
    loss = agent.update(s, a, r, 0.9 * s + 0.1 * torch.randn_like(s))
    if it % 50 == 0:
        print(f"it {it} critic loss {loss:.4f}")
