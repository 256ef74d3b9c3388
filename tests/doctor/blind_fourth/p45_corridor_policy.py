import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(7)
torch.set_num_threads(1)
LENGTH, GAMMA = 8, 0.95


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(LENGTH, 24)
        self.affine2 = nn.Linear(24, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return torch.softmax(self.affine2(torch.relu(self.affine1(x))), dim=-1)


def one_hot(pos):
    return nn.functional.one_hot(torch.tensor(pos), LENGTH).float()


def play(policy, limit=30):
    pos = LENGTH // 2
    for _ in range(limit):
        m = Categorical(policy(one_hot(pos)))
        action = m.sample()
        policy.saved_log_probs.append(m.log_prob(action))
        pos = max(0, pos + (1 if action.item() == 1 else -1))
        done = pos >= LENGTH - 1
        policy.rewards.append(1.0 if done else -0.05)
        if done:
            break


def finish_episode(policy, optimizer):
    returns, R = [], 0.0
    for r in reversed(policy.rewards):
        R = r + GAMMA * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    log_probs = torch.stack(policy.saved_log_probs)
    policy_loss = -(log_probs * returns).sum()
    optimizer.zero_grad()
    policy_loss.backward()
    optimizer.step()


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
lengths = []
for episode in range(80):
    before = len(policy.rewards)
    play(policy)
    lengths.append(len(policy.rewards) - before)
    finish_episode(policy, optimizer)
    if episode % 20 == 19:
        print("episode", episode + 1, "mean steps", sum(lengths[-20:]) / 20)
