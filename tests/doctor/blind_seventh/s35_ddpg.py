"""DDPG on a one-dimensional tracking problem."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], 1))


def transitions(n, actor):
    s = torch.rand(n, 2) * 4 - 2
    with torch.no_grad():
        a = (actor(s) + 0.3 * torch.randn(n, 1)).clamp(-1, 1)
    nxt = torch.stack([s[:, 0] + 0.5 * a[:, 0], s[:, 1]], 1)
    r = -(nxt[:, :1] - nxt[:, 1:]).abs()
    return s, a, r, nxt


@torch.no_grad()
def polyak(net, target, tau=0.02):
    for p, t in zip(net.parameters(), target.parameters()):
        t.lerp_(p, tau)


def train(steps=300, gamma=0.9):
    torch.manual_seed(0)
    actor, critic = Actor(), Critic()
    actor_t, critic_t = copy.deepcopy(actor), copy.deepcopy(critic)
    opt_a = torch.optim.Adam(actor.parameters(), lr=1e-3)
    opt_c = torch.optim.Adam(critic.parameters(), lr=2e-3)
    for step in range(steps):
        s, a, r, nxt = transitions(64, actor)
        opt_a.zero_grad()
        opt_c.zero_grad()

        # policy
        actor_loss = -critic(s, actor(s)).mean()
        actor_loss.backward()
        opt_a.step()

        # value
        with torch.no_grad():
            y = r + gamma * critic_t(nxt, actor_t(nxt))
        critic_loss = F.mse_loss(critic(s, a), y)
        critic_loss.backward()
        opt_c.step()

        polyak(actor, actor_t)
        polyak(critic, critic_t)
        if step % 75 == 0:
            print(f"{step} critic {critic_loss.item():.4f} actor {actor_loss.item():.4f} r {r.mean():.3f}")
    return actor, critic, critic_loss.item()


if __name__ == "__main__":
    actor, critic, last = train()
