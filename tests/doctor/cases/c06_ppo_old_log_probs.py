import torch
import torch.nn as nn
from torch.distributions import Categorical
from dataclasses import dataclass


@dataclass
class Rollout:
    obs: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    returns: torch.Tensor


class Policy(nn.Module):
    def __init__(self, obs_dim=4, n_actions=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, 24), nn.Tanh())
        self.pi = nn.Linear(24, n_actions)
        self.v = nn.Linear(24, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class DriftEnv:
    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)
        self.state = torch.randn(4, generator=self.gen)

    def step(self, action):
        reward = -(self.state[0] + 0.3 * (action - 1)).abs().item()
        self.state = 0.9 * self.state + 0.2 * torch.randn(4, generator=self.gen)
        return self.state, reward


def collect(policy, env, length=16, gamma=0.95):
    obs, acts, logps, rews = [], [], [], []
    state = env.state
    for _ in range(length):
        dist, _ = policy(state)
        action = dist.sample()
        obs.append(state)
        acts.append(action)
        logps.append(dist.log_prob(action))
        state, reward = env.step(action.item())
        rews.append(reward)
    returns, running = [], 0.0
    for r in reversed(rews):
        running = r + gamma * running
        returns.insert(0, running)
    return Rollout(torch.stack(obs), torch.stack(acts), torch.stack(logps), torch.tensor(returns))


def ppo_update(policy, opt, roll, epochs=3, clip=0.2):
    for _ in range(epochs):
        dist, value = policy(roll.obs)
        ratio = torch.exp(dist.log_prob(roll.actions) - roll.log_probs)
        adv = roll.returns - value.detach()
        surrogate = torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
        loss = -surrogate + 0.5 * (roll.returns - value).pow(2).mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(2)
policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
env = DriftEnv(0)
for iteration in range(3):
    roll = collect(policy, env)
    print(iteration, round(ppo_update(policy, opt, roll), 4))
