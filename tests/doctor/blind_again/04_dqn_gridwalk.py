import random
from collections import deque

import torch
import torch.nn as nn


class GridWalk:
    """A few cells in a row with a slippery floor, the reward waits at the right end."""

    def __init__(self, n=6, slip=0.25):
        self.n, self.slip = n, slip

    def reset(self):
        self.pos = 0
        return self.obs()

    def obs(self):
        v = torch.zeros(self.n)
        v[self.pos] = 1
        return v

    def step(self, a):
        if random.random() < self.slip:
            a = 1 - a
        self.pos = max(0, self.pos + (1 if a == 1 else -1))
        done = self.pos == self.n - 1
        return self.obs(), (1.0 if done else -0.01), done


class QNet(nn.Module):
    def __init__(self, n, hidden=32):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(n, hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, s):
        return self.f(s)


def td_loss(q, batch, gamma):
    s, a, r, s2, d = (torch.stack(x) for x in zip(*batch))
    chosen = q(s).gather(1, a.view(-1, 1)).squeeze(1)
    best_next = q(s2).max(1).values
    target = r + gamma * (1 - d) * best_next
    return nn.functional.smooth_l1_loss(chosen, target)


def run(steps=500):
    random.seed(0)
    torch.manual_seed(0)
    env, q = GridWalk(), QNet(6)
    opt = torch.optim.Adam(q.parameters(), lr=5e-3)
    memory = deque(maxlen=400)
    s, eps = env.reset(), 1.0
    for t in range(steps):
        with torch.no_grad():
            a = random.randrange(2) if random.random() < eps else int(q(s).argmax())
        s2, r, done = env.step(a)
        memory.append((s, torch.tensor(a), torch.tensor(r), s2, torch.tensor(float(done))))
        s = env.reset() if done else s2
        eps = max(0.1, eps * 0.99)
        if len(memory) >= 32:
            loss = td_loss(q, random.sample(memory, 32), 0.95)
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        table = q(torch.eye(6))[:-1]
        print("greedy actions", table.argmax(1).tolist(), "values", [round(v, 2) for v in table.max(1).values.tolist()])


if __name__ == "__main__":
    run()
