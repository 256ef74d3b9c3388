import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(72)
random.seed(72)


class Corridor:
    def __init__(self, n=7):
        self.n = n

    def reset(self):
        self.s, self.t = self.n // 2, 0
        return self.obs()

    def obs(self):
        return F.one_hot(torch.tensor(self.s), self.n).float()

    def step(self, a):
        self.s += 1 if a == 1 else -1
        self.t += 1
        done = self.s in (0, self.n - 1) or self.t > 20
        return self.obs(), (1.0 if self.s == self.n - 1 else -0.02), done


class DoubleDQN:
    def __init__(self, n):
        self.online = nn.Sequential(nn.Linear(n, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target = copy.deepcopy(self.online)
        self.opt = torch.optim.Adam(list(self.online.parameters()), lr=3e-3)
        self.buffer = deque(maxlen=1000)

    @torch.no_grad()
    def act(self, s, eps):
        return random.randrange(2) if random.random() < eps else self.online(s).argmax().item()

    def learn(self, batch=32, gamma=0.95):
        s, a, r, s2, d = zip(*random.sample(self.buffer, batch))
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d, dtype=torch.float32)
        with torch.no_grad():
            slow = self.target(s2).max(1).values
        # average of the slow and the current estimate is more up to date
        fast = self.online(s2).max(1).values
        y = r + gamma * (1 - d) * 0.5 * (slow + fast)
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        loss = F.mse_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


env, agent = Corridor(), DoubleDQN(7)
step, loss = 0, 0.0
for ep in range(50):
    s, done, total = env.reset(), False, 0.0
    while not done:
        a = agent.act(s, eps=max(0.1, 1 - ep / 25))
        s2, r, done = env.step(a)
        agent.buffer.append((s, a, r, s2, done))
        s, total, step = s2, total + r, step + 1
        if len(agent.buffer) >= 64:
            loss = agent.learn()
        if step % 50 == 0:
            agent.target.load_state_dict(agent.online.state_dict())
    if ep % 10 == 0:
        print(f"episode {ep} return {total:+.2f} loss {loss:.4f}")
