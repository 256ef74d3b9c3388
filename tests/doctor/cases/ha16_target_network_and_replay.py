import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

Step = namedtuple("Step", "state action reward next_state done")


class Memory:
    def __init__(self, capacity, seed):
        self.steps = deque(maxlen=capacity)
        self.random = random.Random(seed)

    def add(self, *values):
        self.steps.append(Step(*values))

    def batch(self, n):
        chosen = self.random.sample(list(self.steps), n)
        return Step(*(torch.stack(column) for column in zip(*chosen)))


class Learner:
    def __init__(self, n_state, n_action, gamma=0.9):
        self.online = nn.Sequential(nn.Linear(n_state, 24), nn.ReLU(), nn.Linear(24, n_action))
        self.target = nn.Sequential(nn.Linear(n_state, 24), nn.ReLU(), nn.Linear(24, n_action))
        self.target.load_state_dict(self.online.state_dict())
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=5e-3)
        self.gamma = gamma
        self.curve = []

    def act(self, state, epsilon, rng):
        q = self.online(state)
        if rng.random() < epsilon:
            return torch.tensor(rng.randrange(q.numel()))
        return q.argmax()

    def learn(self, batch):
        q = self.online(batch.state).gather(1, batch.action[:, None]).squeeze(1)
        best = self.online(batch.next_state).argmax(1, keepdim=True)
        # the target network has parameters that require grad; only its value is used
        future = self.target(batch.next_state).gather(1, best).squeeze(1)
        goal = batch.reward + self.gamma * (1 - batch.done) * future.detach()
        loss = F.smooth_l1_loss(q, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.curve.append(loss.detach())
        return loss


def dynamics(state, action, rng):
    following = (state + torch.tensor([-0.3, 0.0, 0.3])[action]).clamp(-2, 2)
    done = torch.tensor(float(rng.random() < 0.1))
    return following, -following.abs().sum(), done


torch.manual_seed(0)
rng = random.Random(4)
learner, memory = Learner(2, 3), Memory(200, seed=5)
state = torch.randn(2)
for t in range(80):
    action = learner.act(state, epsilon=max(0.1, 1 - t / 40), rng=rng)
    following, reward, done = dynamics(state, action, rng)
    memory.add(state, action, reward, following, done)
    state = torch.randn(2) if done else following
    if t >= 20:
        learner.learn(memory.batch(16))
    if t % 15 == 14:
        learner.target.load_state_dict(learner.online.state_dict())
curve = torch.stack(learner.curve)
print("first", round(curve[:10].mean().item(), 4), "last", round(curve[-10:].mean().item(), 4))
