from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Config:
    obs: int = 6
    act: int = 2
    hidden: int = 32
    batch: int = 48
    iters: int = 40
    alpha: float = 0.1
    gamma: float = 0.95


class Actor(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(cfg.obs, cfg.hidden), nn.ReLU())
        self.mu = nn.Linear(cfg.hidden, cfg.act)
        self.log_std = nn.Linear(cfg.hidden, cfg.act)

    def forward(self, s):
        z = self.body(s)
        dist = torch.distributions.Normal(self.mu(z), self.log_std(z).clamp(-4, 1).exp())
        a = dist.rsample()
        return torch.tanh(a), dist.log_prob(a).sum(-1, keepdim=True)


class Critic(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(cfg.obs + cfg.act, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 1))

    def forward(self, s, a):
        return self.q(torch.cat([s, a], -1))


def fake_replay(cfg):
    s = torch.randn(cfg.batch, cfg.obs)
    a = torch.rand(cfg.batch, cfg.act) * 2 - 1
    r = -(a - s[:, : cfg.act]).pow(2).sum(-1, keepdim=True)
    return s, a, r, torch.randn(cfg.batch, cfg.obs)


def update(cfg, actor, critic, a_opt, q_opt, batch):
    s, a, r, s2 = batch
    with torch.no_grad():
        a2, logp2 = actor(s2)
        y = r + cfg.gamma * (critic(s2, a2) - cfg.alpha * logp2)
    critic_loss = nn.functional.mse_loss(critic(s, a), y)

    pi, logp = actor(s)
    actor_loss = (cfg.alpha * logp - critic(s, pi)).mean()

    q_opt.zero_grad()
    critic_loss.backward()
    q_opt.step()

    a_opt.zero_grad()
    actor_loss.backward()
    a_opt.step()
    return critic_loss.item(), actor_loss.item()


def main():
    cfg = Config()
    torch.manual_seed(7)
    actor, critic = Actor(cfg), Critic(cfg)
    a_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
    q_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)
    for i in range(cfg.iters):
        c, p = update(cfg, actor, critic, a_opt, q_opt, fake_replay(cfg))
    print(f"critic {c:.3f} actor {p:.3f}")


if __name__ == "__main__":
    main()
