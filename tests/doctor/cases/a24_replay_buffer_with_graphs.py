import random
from collections import deque
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Transition:
    state: torch.Tensor
    action: int
    reward: float
    next_state: torch.Tensor
    q_value: torch.Tensor


class ReplayBuffer:
    def __init__(self, capacity):
        self.items = deque(maxlen=capacity)

    def push(self, *fields):
        self.items.append(Transition(*fields))

    def sample(self, n, rng):
        return rng.sample(list(self.items), n)

    def mean_q(self):
        return sum(t.q_value.item() for t in self.items) / len(self.items)


class QNet(nn.Module):
    def __init__(self, n_state, n_action):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_state, 24), nn.ReLU())
        self.value, self.advantage = nn.Linear(24, 1), nn.Linear(24, n_action)

    def forward(self, s):
        h = self.body(s)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(-1, keepdim=True)


def environment(state, action):
    drift = torch.tensor([0.1, -0.1, 0.0])[action]
    following = (0.9 * state + drift).clamp(-1, 1)
    return following, -following.abs().mean().item()


def act(q_net, state, epsilon, rng):
    q = q_net(state)
    if rng.random() < epsilon:
        action = rng.randrange(3)
    else:
        action = int(q.argmax())
    return action, q[action]


def learn(q_net, target, optimizer, batch, gamma=0.9):
    states = torch.stack([t.state for t in batch])
    actions = torch.tensor([t.action for t in batch])
    rewards = torch.tensor([t.reward for t in batch])
    with torch.no_grad():
        best = target(torch.stack([t.next_state for t in batch])).amax(1)
    q = q_net(states).gather(1, actions.unsqueeze(1)).squeeze(1)
    loss = nn.functional.smooth_l1_loss(q, rewards + gamma * best)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


torch.manual_seed(0)
rng = random.Random(0)
q_net, target = QNet(4, 3), QNet(4, 3)
target.load_state_dict(q_net.state_dict())
optimizer = torch.optim.Adam(q_net.parameters(), lr=5e-3)
buffer = ReplayBuffer(capacity=500)
state = torch.rand(4) * 2 - 1
for step in range(60):
    action, q_value = act(q_net, state, epsilon=0.2, rng=rng)
    next_state, reward = environment(state, action)
    buffer.push(state, action, reward, next_state, q_value)
    state = next_state if step % 10 else torch.rand(4) * 2 - 1
    if step >= 16:
        loss = learn(q_net, target, optimizer, buffer.sample(16, rng))
    if step % 20 == 19:
        target.load_state_dict(q_net.state_dict())
        print(step, f"loss {loss:.4f} q {buffer.mean_q():.3f}")
