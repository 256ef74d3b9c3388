"""Advantage actor-critic for an elevator that should wait on the busiest floor."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

FLOORS, HORIZON = 5, 10


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(2 * FLOORS, 32), nn.Tanh(), nn.Linear(32, 3))
        self.value = nn.Sequential(nn.Linear(2 * FLOORS, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        return Categorical(logits=self.policy(obs)), self.value(obs).squeeze(-1)


def rollout(model, busy):
    at = int(torch.randint(FLOORS, ()))
    log_probs, values, rewards, entropies = [], [], [], []
    for _ in range(HORIZON):
        obs = torch.zeros(2 * FLOORS)
        obs[at] = 1
        obs[FLOORS + busy] = 1
        dist, value = model(obs)
        move = dist.sample()
        at = min(max(at + int(move) - 1, 0), FLOORS - 1)
        log_probs.append(dist.log_prob(move))
        values.append(value)
        rewards.append(-abs(at - busy) / FLOORS)
        entropies.append(dist.entropy())
    returns, acc = [], 0.0
    for r in reversed(rewards):
        acc = r + 0.9 * acc
        returns.insert(0, acc)
    return torch.stack(log_probs), torch.stack(values), torch.tensor(returns), torch.stack(entropies)


def losses(model, busy):
    log_probs, values, returns, entropies = rollout(model, busy)
    advantage = returns - values
    policy_loss = -(log_probs * advantage).mean() - 0.01 * entropies.mean()
    value_loss = (returns - values).pow(2).mean()
    return policy_loss, value_loss, returns[0].item()


torch.manual_seed(1)
model = ActorCritic()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
score = None
for episode in range(150):
    policy_loss, value_loss, ret = losses(model, busy=int(torch.randint(FLOORS, ())))
    opt.zero_grad()
    (policy_loss + 0.5 * value_loss).backward()
    opt.step()
    score = ret if score is None else 0.95 * score + 0.05 * ret
    if episode % 50 == 0:
        print(f"episode {episode} smoothed return {score:.3f}")
