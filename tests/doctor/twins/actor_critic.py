"""The model keeps what it did in an episode, with its graph, and the buffers are emptied."""

from collections import namedtuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(543)
SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 16)
        self.action_head, self.value_head = nn.Linear(16, 2), nn.Linear(16, 1)
        self.saved_actions, self.rewards = [], []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


model = Policy()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)


def select_action(state):
    probs, value = model(state)
    chosen = Categorical(probs)
    action = chosen.sample()
    model.saved_actions.append(SavedAction(chosen.log_prob(action), value))
    return action.item()


def finish_episode():
    R, returns = 0.0, []
    for reward in model.rewards[::-1]:
        R = reward + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    policy_losses, value_losses = [], []
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss


running = 10.0
for episode in range(14):
    state, total = torch.randn(4), 0.0
    for _ in range(6):
        action = select_action(state)
        state = 0.8 * state + (0.3 if action else -0.3) + 0.1 * torch.randn(4)
        reward = -state.abs().sum().item()
        model.rewards.append(reward)
        total += reward
    running = 0.05 * total + 0.95 * running
    last = finish_episode()
print(running, last.item())
