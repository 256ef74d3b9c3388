"""Q-learning for a car that should stay in its lane (1-d toy)."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

GAMMA = 0.95
ACTIONS = torch.tensor([-0.2, 0.0, 0.2])


class Lane:
    def reset(self):
        self.pos = random.uniform(-1, 1)
        self.t = 0
        return torch.tensor([self.pos, self.t / 20])

    def step(self, action):
        self.pos += ACTIONS[action].item() + random.gauss(0, 0.05)
        self.t += 1
        done = abs(self.pos) > 1.5 or self.t >= 20
        return torch.tensor([self.pos, self.t / 20]), 1 - abs(self.pos), done


class QAgent:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3))
        self.opt = torch.optim.Adam(self.q.parameters(), lr=3e-3)
        self.memory = []

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(3)
        with torch.no_grad():
            return self.q(s).argmax().item()

    def td_loss(self, batch):
        s, a, r, s2, done = (torch.stack(c) if torch.is_tensor(c[0]) else torch.tensor(c) for c in zip(*batch))
        q = self.q(s).gather(1, a.view(-1, 1)).squeeze(1)
        target = r + GAMMA * self.q(s2).max(dim=1).values * (1 - done.float())
        return F.mse_loss(q, target)

    def learn(self):
        if len(self.memory) < 64:
            return None
        loss = self.td_loss(random.sample(self.memory, 64))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


random.seed(0)
torch.manual_seed(0)
env, agent = Lane(), QAgent()
for episode in range(60):
    s, done, ret, loss = env.reset(), False, 0.0, None
    while not done:
        a = agent.act(s, eps=max(0.05, 1 - episode / 30))
        s2, r, done = env.step(a)
        agent.memory.append((s, a, r, s2, done))
        s, ret = s2, ret + r
        loss = agent.learn()
    if episode % 20 == 0:
        print(f"episode {episode} return {ret:.2f} loss {loss}")
