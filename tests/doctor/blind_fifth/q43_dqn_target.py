import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)


class Grid:
    size = 4

    def reset(self):
        self.x = self.y = self.t = 0
        return self.obs()

    def obs(self):
        return self.x * self.size + self.y

    def step(self, a):
        dx, dy = [(0, 1), (0, -1), (1, 0), (-1, 0)][a]
        self.x = min(max(self.x + dx, 0), self.size - 1)
        self.y = min(max(self.y + dy, 0), self.size - 1)
        self.t += 1
        win = self.x == self.y == self.size - 1
        return self.obs(), float(win), win, win or self.t >= 30


class Agent:
    def __init__(self, n_obs, n_act, gamma=0.9, tau=0.05):
        self.q = nn.Sequential(nn.Embedding(n_obs, 24), nn.ReLU(), nn.Linear(24, n_act))
        self.q_target = copy.deepcopy(self.q).requires_grad_(False)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=5e-3)
        self.gamma, self.tau, self.buffer = gamma, tau, []

    @torch.no_grad()
    def act(self, s, eps):
        return random.randrange(4) if random.random() < eps else self.q(torch.tensor([s])).argmax().item()

    def learn(self, k=32):
        s, a, r, s2, d = map(torch.tensor, zip(*random.sample(self.buffer, k)))
        best = self.q(s2).argmax(1, keepdim=True)
        target = r + self.gamma * (~d) * self.q_target(s2).gather(1, best).squeeze(1).detach()
        loss = F.smooth_l1_loss(self.q(s).gather(1, a[:, None]).squeeze(1), target)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(self.q.parameters(), 1.0)
        self.opt.step()
        for p, pt in zip(self.q.parameters(), self.q_target.parameters()):
            pt.data.lerp_(p.data, self.tau)


env, agent, steps = Grid(), Agent(16, 4), []
for ep in range(100):
    s, over = env.reset(), False
    while not over:
        a = agent.act(s, max(0.05, 0.8 - ep / 60))
        s2, r, win, over = env.step(a)
        agent.buffer.append((s, a, r, s2, win))
        s = s2
        if len(agent.buffer) > 32:
            agent.learn()
    steps.append(env.t)
    if ep % 33 == 0:
        print(f"episode {ep} steps {sum(steps[-20:]) / len(steps[-20:]):.1f}")
