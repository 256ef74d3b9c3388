"""Batched A2C with separate actor and critic networks and one joint loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


def net(out):
    return nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, out))


class VecEnv:
    """Steer a scalar towards a goal; n copies in parallel."""

    def __init__(self, n=16):
        self.n = n
        self.reset()

    def reset(self):
        self.pos, self.goal = torch.randn(self.n), torch.randn(self.n)
        self.t = 0
        return self.obs()

    def obs(self):
        return torch.stack([self.pos, self.goal, self.goal - self.pos], 1)

    def step(self, a):
        self.pos = self.pos + 0.2 * (a.float() - 1)
        self.t += 1
        return self.obs(), -(self.goal - self.pos).abs()


def rollout(env, actor, critic, horizon=8):
    obs, logps, values, rewards, entropies = env.reset(), [], [], [], []
    for _ in range(horizon):
        dist = Categorical(logits=actor(obs))
        a = dist.sample()
        values.append(critic(obs).squeeze(-1))
        logps.append(dist.log_prob(a))
        entropies.append(dist.entropy())
        obs, r = env.step(a)
        rewards.append(r)
    with torch.no_grad():
        last = critic(obs).squeeze(-1)
    return torch.stack(logps), torch.stack(values), rewards, torch.stack(entropies), last


def returns_of(rewards, last, gamma=0.7):
    out, g = [], last
    for r in reversed(rewards):
        g = r + gamma * g
        out.append(g)
    return torch.stack(out[::-1])


torch.manual_seed(0)
env, actor, critic = VecEnv(), net(3), net(1)
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-2)
for update in range(120):
    logps, values, rewards, ent, last = rollout(env, actor, critic)
    returns = returns_of(rewards, last)
    advantage = returns - values
    policy_loss = -(logps * advantage).mean()
    value_loss = F.mse_loss(values, returns)
    loss = policy_loss + 0.5 * value_loss - 0.01 * ent.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if update % 30 == 0:
        print(f"{update} reward {torch.stack(rewards).mean():.3f} value loss {value_loss.item():.4f}")
