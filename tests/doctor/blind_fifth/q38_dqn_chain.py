import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", "s a r s2 done")
N, GAMMA, BATCH = 6, 0.9, 32


class SlipperyChain:
    def reset(self):
        self.p, self.t = 0, 0
        return self.p

    def step(self, a):
        if random.random() < 0.3:
            a = 1 - a
        self.p = max(0, self.p - 1) if a == 0 else self.p + 1
        self.t += 1
        win = self.p == N
        return min(self.p, N - 1), (1.0 if win else 0.0), win, win or self.t >= 40


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(N, 32), nn.Linear(32, 2)

    def forward(self, s):
        return self.l2(F.relu(self.l1(F.one_hot(s, N).float())))


random.seed(1)
torch.manual_seed(1)
torch.set_num_threads(1)
net, memory, env = DQN(), deque(maxlen=2000), SlipperyChain()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)


def optimize_model():
    batch = Transition(*zip(*random.sample(memory, BATCH)))
    s, a, s2 = (torch.tensor(v) for v in (batch.s, batch.a, batch.s2))
    r, done = torch.tensor(batch.r), torch.tensor(batch.done).float()
    q = net(s).gather(1, a[:, None]).squeeze(1)
    expected = r + GAMMA * (1 - done) * net(s2).max(1).values
    loss = F.mse_loss(q, expected)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


for episode in range(60):
    s, over, loss = env.reset(), False, 0.0
    while not over:
        greedy = net(torch.tensor(s)).argmax().item()
        a = random.randrange(2) if random.random() < 0.3 else greedy
        s2, r, win, over = env.step(a)
        memory.append(Transition(s, a, r, s2, win))
        s = s2
        if len(memory) >= BATCH:
            loss = optimize_model()
    if episode % 20 == 0 or episode == 59:
        v = net(torch.arange(N)).max(1).values
        print(f"episode {episode} loss {loss:.5f} v(start) {v[0].item():.3f} v(end) {v[-1].item():.3f}")
