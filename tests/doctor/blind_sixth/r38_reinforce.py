import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(3, 24)
        self.action = nn.Linear(24, 2)
        self.log_probs = []
        self.rewards = []

    def forward(self, x):
        return torch.softmax(self.action(torch.relu(self.affine(x))), dim=-1)


class Balance:
    """Keep a drifting number close to zero by pushing it left or right."""

    def reset(self):
        self.x, self.drift, self.t = 0.0, 0.1 * torch.randn(()).item(), 0
        return self.obs()

    def obs(self):
        return torch.tensor([self.x, self.drift, self.t / 20])

    def step(self, action):
        self.x += self.drift + (0.15 if action == 1 else -0.15)
        self.t += 1
        done = abs(self.x) > 0.6 or self.t == 20
        return self.obs(), 1.0 - abs(self.x), done


def select_action(policy, obs):
    dist = Categorical(policy(obs))
    action = dist.sample()
    policy.log_probs.append(dist.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer, gamma=0.97):
    R, returns = 0.0, []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std(unbiased=False) + 1e-6)
    log_probs = torch.tensor(policy.log_probs)
    loss = -(log_probs * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    policy.log_probs.clear()
    policy.rewards.clear()
    return loss.item()


policy, env = Policy(), Balance()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
running = 0.0
for episode in range(30):
    obs, done, length = env.reset(), False, 0
    while not done:
        obs, reward, done = env.step(select_action(policy, obs))
        policy.rewards.append(reward)
        length += 1
    finish_episode(policy, optimizer)
    running = 0.9 * running + 0.1 * length
    if episode % 10 == 9:
        print(f"episode {episode + 1} running length {running:.2f}")
