import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import deque
import random

torch.manual_seed(1)
random.seed(1)


def mlp(i, o, out=None):
    layers = [nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, o)]
    return nn.Sequential(*layers, *([out] if out else []))


class DDPG:
    def __init__(self):
        self.actor, self.critic = mlp(2, 1, nn.Tanh()), mlp(3, 1)
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.opt_a = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        self.buf = deque(maxlen=2000)

    @torch.no_grad()
    def act(self, s, noise=0.3):
        return (self.actor(s) + noise * torch.randn(1)).clamp(-1, 1)

    def losses(self, s, a, r, s2):
        with torch.no_grad():
            y = r + 0.9 * self.critic_t(torch.cat([s2, self.actor_t(s2)], 1))
        q = self.critic(torch.cat([s, a], 1))
        critic_loss = F.mse_loss(q, y)
        actor_loss = -self.critic(torch.cat([s, self.actor(s)], 1)).mean()
        return critic_loss, actor_loss

    def update(self, batch_size=64):
        s, a, r, s2 = (torch.stack(t) for t in zip(*random.sample(self.buf, batch_size)))
        critic_loss, actor_loss = self.losses(s, a, r, s2)
        self.opt_c.zero_grad()
        critic_loss.backward()
        self.opt_c.step()

        self.opt_a.zero_grad()
        actor_loss.backward()
        self.opt_a.step()

        with torch.no_grad():
            for net, tgt in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
                for p, pt in zip(net.parameters(), tgt.parameters()):
                    pt.lerp_(p, 0.02)
        return critic_loss.item(), actor_loss.item()


agent = DDPG()
state = torch.randn(2)
for step in range(400):
    action = agent.act(state)
    nxt = 0.9 * state + torch.cat([action, -action]) * 0.5 + 0.1 * torch.randn(2)
    agent.buf.append((state, action, -nxt.pow(2).sum().view(1), nxt))
    state = nxt
    if step >= 100:
        c, a = agent.update()
        if step % 100 == 0:
            print(f"step {step} critic {c:.3f} actor {a:.3f}")
