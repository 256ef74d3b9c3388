"""REINFORCE on a two-step bandit; the loss is collected over the episodes of a batch."""
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, n_obs=4, n_act=3):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(n_obs, 24), nn.ReLU(), nn.Linear(24, n_act))

    def forward(self, obs):
        return Categorical(logits=self.fc(obs))


class Env:
    """The right action is the index of the largest of the first three inputs."""

    def reset(self):
        self.left = 5
        self.obs = torch.randn(4)
        return self.obs

    def step(self, a):
        reward = 1.0 if a == self.obs[:3].argmax().item() else 0.0
        self.left -= 1
        self.obs = torch.randn(4)
        return self.obs, reward, self.left == 0


def discounted(rewards, gamma=0.9):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        out.insert(0, g)
    return out


def run_episode(env, policy):
    log_probs, rewards = [], []
    obs, done = env.reset(), False
    while not done:
        dist = policy(obs)
        a = dist.sample()
        log_probs.append(dist.log_prob(a))
        obs, r, done = env.step(a.item())
        rewards.append(r)
    return log_probs, rewards


torch.manual_seed(1)
env, policy = Env(), Policy()
opt = torch.optim.Adam(policy.parameters(), lr=2e-2)
history = []
for update in range(40):
    losses, score = [], 0.0
    for _ in range(6):
        log_probs, rewards = run_episode(env, policy)
        score += sum(rewards) / 6
        returns = discounted(rewards)
        baseline = sum(returns) / len(returns)
        for lp, g in zip(log_probs, returns):
            losses.append(-lp * (g - baseline))
    policy_loss = torch.tensor(losses, requires_grad=True).sum()
    opt.zero_grad()
    policy_loss.backward()
    opt.step()
    history.append(score)
    if update % 10 == 0:
        print(f"update {update} mean return {score:.2f}")
