import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, obs=4, act=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, act))

    def forward(self, s):
        return Categorical(logits=self.net(s))


class Value(nn.Module):
    def __init__(self, obs=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, s):
        return self.net(s).squeeze(-1)


W = torch.randn(4, 3)


def collect(policy, n=128):
    states = torch.randn(n, 4)
    with torch.no_grad():
        dist = policy(states)
        actions = dist.sample()
        logp = dist.log_prob(actions)
    rewards = (states @ W).gather(1, actions[:, None]).squeeze(1)
    return states, actions, logp, rewards


policy, value = Policy(), Value()
pi_opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
v_opt = torch.optim.Adam(value.parameters(), lr=1e-2)
CLIP, MINI_EPOCHS = 0.2, 4

for it in range(25):
    states, actions, old_logp, returns = collect(policy)
    adv = returns - value(states)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(MINI_EPOCHS):
        ratio = torch.exp(policy(states).log_prob(actions) - old_logp)
        clipped = torch.clamp(ratio, 1 - CLIP, 1 + CLIP)
        pi_loss = -torch.min(ratio * adv, clipped * adv).mean()
        pi_opt.zero_grad()
        pi_loss.backward()
        pi_opt.step()

        v_loss = nn.functional.mse_loss(value(states), returns)
        v_opt.zero_grad()
        v_loss.backward()
        v_opt.step()
    if it % 6 == 0:
        print(f"iter {it} reward {returns.mean().item():.3f} value loss {v_loss.item():.4f}")
