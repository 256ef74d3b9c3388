from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(2)


@dataclass
class Batch:
    obs: torch.Tensor
    act: torch.Tensor
    logp: torch.Tensor
    adv: torch.Tensor
    ret: torch.Tensor


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.Tanh())
        self.mu = nn.Linear(32, 1)
        self.v = nn.Linear(32, 1)
        self.log_std = nn.Parameter(torch.full((1,), -0.5))

    def forward(self, obs):
        h = self.body(obs)
        return Normal(self.mu(h), self.log_std.exp()), self.v(h).squeeze(-1)


def collect(policy, n=256):
    obs = torch.randn(n, 2)
    dist, value = policy(obs)
    act = dist.sample()
    logp = dist.log_prob(act).sum(-1)
    # one step task: the right action is the sum of the observation
    reward = -(act.squeeze(-1) - obs.sum(-1)).pow(2)
    adv = reward - value.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    return Batch(obs, act, logp, adv, reward)


def ppo_loss(policy, b, clip=0.2):
    dist, value = policy(b.obs)
    logp = dist.log_prob(b.act).sum(-1)
    ratio = (logp - b.logp).exp()
    surr = torch.min(ratio * b.adv, ratio.clamp(1 - clip, 1 + clip) * b.adv)
    return -surr.mean() + 0.5 * (value - b.ret).pow(2).mean()


policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
for it in range(20):
    batch = collect(policy)
    for epoch in range(4):
        loss = ppo_loss(policy, batch)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        opt.step()
    if it % 5 == 0:
        print(f"iter {it} reward {batch.ret.mean().item():.3f} loss {loss.item():.3f}")
