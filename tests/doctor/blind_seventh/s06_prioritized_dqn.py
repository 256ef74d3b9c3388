"""DQN with prioritised replay on a small chain world."""
import random
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn as nn

N_STATES, GAMMA = 8, 0.95


@dataclass
class Replay:
    capacity: int = 500
    items: list = field(default_factory=list)
    prio: list = field(default_factory=list)

    def push(self, item):
        if len(self.items) >= self.capacity:
            self.items.pop(0)
            self.prio.pop(0)
        self.items.append(item)
        self.prio.append(max(self.prio, default=1.0))

    def sample(self, n):
        p = np.asarray(self.prio) ** 0.6
        idx = np.random.choice(len(self.items), n, p=p / p.sum())
        return idx, [self.items[i] for i in idx]

    def update(self, idx, errors):
        for i, e in zip(idx, errors):
            self.prio[i] = float(e) + 1e-3


def env_step(s, a):
    s2 = max(0, min(N_STATES - 1, s + (1 if a == 1 else -1)))
    done = s2 == N_STATES - 1
    return s2, (1.0 if done else 0.0), done


def onehot(states):
    return torch.eye(N_STATES)[torch.tensor(states)]


def make_net():
    return nn.Sequential(nn.Linear(N_STATES, 24), nn.ReLU(), nn.Linear(24, 2))


def main():
    torch.manual_seed(0), random.seed(0), np.random.seed(0)
    q, target = make_net(), make_net()
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=5e-3)
    memory, s = Replay(), 0
    for step in range(250):
        a = random.randrange(2) if random.random() < 0.3 else int(q(onehot([s])).argmax())
        s2, r, done = env_step(s, a)
        memory.push((s, a, r, s2, done))
        s = 0 if done else s2
        if len(memory.items) < 32:
            continue
        idx, rows = memory.sample(32)
        bs, ba, br, bs2, bd = zip(*rows)
        qa = q(onehot(bs)).gather(1, torch.tensor(ba)[:, None]).squeeze(1)
        with torch.no_grad():
            best = target(onehot(bs2)).max(1).values
            y = torch.tensor(br) + GAMMA * best * (1 - torch.tensor(bd).float())
        td = y - qa
        loss = td.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        memory.update(idx, td.abs().numpy())
        if step % 50 == 0:
            target.load_state_dict(q.state_dict())
            print(step, loss.item())
    return q


if __name__ == "__main__":
    main()
