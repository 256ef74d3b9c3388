"""PPO with a clipped objective on a one-dimensional 'reach zero' task."""
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(23)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def dist(self, s):
        return Normal(self.mu(s), self.log_std.exp())


policy = Policy()
value = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(list(policy.parameters()) + list(value.parameters()), lr=3e-3)


def rollout(n=64, horizon=8):
    states, actions, logps, rewards = [], [], [], []
    s = torch.randn(n, 1)
    for _ in range(horizon):
        d = policy.dist(s)
        a = d.sample()
        states.append(s)
        actions.append(a)
        logps.append(d.log_prob(a))
        s = (s + 0.3 * a).clamp(-3, 3)
        rewards.append(-s.abs())
    returns, acc = [], torch.zeros(n, 1)
    for r in reversed(rewards):
        acc = r + 0.9 * acc
        returns.insert(0, acc)
    return torch.cat(states), torch.cat(actions), torch.cat(logps), torch.cat(returns)


for iteration in range(8):
    states, actions, old_logp, returns = rollout()
    with torch.no_grad():
        adv = returns - value(states)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for epoch in range(4):
        ratio = (policy.dist(states).log_prob(actions) - old_logp).exp()
        surr = torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv)
        v_loss = (value(states) - returns).pow(2).mean()
        loss = -surr.mean() + 0.5 * v_loss
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        opt.step()
    print(f"iter {iteration} mean return {returns.mean().item():.3f}")
