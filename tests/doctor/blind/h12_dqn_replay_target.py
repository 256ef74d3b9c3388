import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(112)
random.seed(112)


class QLearner:
    def __init__(self, tau=0.05):
        self.q = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 3))
        self.q_target = copy.deepcopy(self.q)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.memory = deque(maxlen=1500)
        self.tau = tau

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(3)
        with torch.no_grad():
            return self.q(s).argmax().item()

    def learn(self):
        s, a, r, s2 = zip(*random.sample(self.memory, 48))
        s, s2, a, r = torch.stack(s), torch.stack(s2), torch.tensor(a), torch.tensor(r)
        best = self.q(s2).argmax(1, keepdim=True)  # double DQN: indices only
        future = self.q_target(s2).gather(1, best).squeeze(1).detach()
        td = self.q(s).gather(1, a[:, None]).squeeze(1) - (r + 0.9 * future)
        loss = F.huber_loss(td, torch.zeros_like(td))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for pt, p in zip(self.q_target.parameters(), self.q.parameters()):
                pt.lerp_(p, self.tau)
        return loss.item()


agent, state, total, loss = QLearner(), torch.zeros(2), 0.0, 0.0
for t in range(500):
    a = agent.act(state, eps=max(0.1, 1 - t / 250))
    push = torch.tensor([0.0, (a - 1) * 0.2])
    nxt = state + torch.tensor([0.2 * state[1].item(), 0.0]) + push + 0.05 * torch.randn(2)
    nxt = nxt.clamp(-2, 2)
    r = -nxt.abs().sum().item()
    agent.memory.append((state, a, r, nxt))
    state, total = nxt, total + r
    if t > 60:
        loss = agent.learn()
    if (t + 1) % 125 == 0:
        print(f"t {t + 1} mean reward {total / 125:.3f} loss {loss:.4f}")
        total = 0.0
