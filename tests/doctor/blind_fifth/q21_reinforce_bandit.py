import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(21)


class Policy(nn.Module):
    def __init__(self, s_dim, n_act):
        super().__init__()
        self.fc1 = nn.Linear(s_dim, 24)
        self.fc2 = nn.Linear(24, n_act)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return torch.softmax(self.fc2(torch.relu(self.fc1(x))), dim=-1)


class Env:
    """Follow the sign of the first sensor."""

    def reset(self):
        self.t = 0
        self.s = torch.randn(4)
        return self.s

    def step(self, a):
        r = 1.0 if (self.s[0] > 0).long().item() == a else -1.0
        self.t += 1
        self.s = torch.randn(4)
        return self.s, r, self.t >= 20


policy = Policy(4, 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
env = Env()


def select_action(state):
    with torch.no_grad():
        probs = policy(state)
        m = Categorical(probs)
        action = m.sample()
        policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(gamma=0.9):
    R, returns = 0.0, []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = torch.stack([-lp * ret for lp, ret in zip(policy.saved_log_probs, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]


avg = 0.0
for ep in range(120):
    state, done = env.reset(), False
    while not done:
        state, reward, done = env.step(select_action(state))
        policy.rewards.append(reward)
    avg = 0.9 * avg + 0.1 * sum(policy.rewards)
    finish_episode()
    if ep % 40 == 0 or ep == 119:
        print(f"episode {ep} average reward {avg:.2f}")
