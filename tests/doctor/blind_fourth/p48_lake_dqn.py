# Q-learning on a ten-cell lake: walk right over thin ice to reach the far shore
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(24)
torch.set_num_threads(1)
random.seed(24)
CELLS, GAMMA = 10, 0.9


def encode(cells):
    return F.one_hot(torch.as_tensor(cells), CELLS).float()


def move(cell, action):
    if random.random() < 0.1:
        action = 1 - action
    nxt = min(CELLS - 1, cell + 1) if action == 1 else max(0, cell - 1)
    return nxt, 1.0 if nxt == CELLS - 1 else 0.0, nxt == CELLS - 1


q_net = nn.Sequential(nn.Linear(CELLS, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(q_net.parameters(), lr=5e-3)
memory = deque(maxlen=500)
cell, losses = 0, []

for t in range(700):
    epsilon = max(0.1, 1 - t / 300)
    if random.random() < epsilon:
        action = random.randrange(2)
    else:
        with torch.no_grad():
            action = q_net(encode(cell)).argmax().item()
    nxt, reward, done = move(cell, action)
    memory.append((cell, action, reward, nxt, float(done)))
    cell = 0 if done else nxt
    if len(memory) < 50:
        continue

    s, a, r, s2, d = zip(*random.sample(memory, 32))
    q = q_net(encode(s)).gather(1, torch.tensor(a)[:, None]).squeeze(1)
    next_q = q_net(encode(s2)).max(dim=1).values
    target = torch.tensor(r) + GAMMA * (1 - torch.tensor(d)) * next_q
    loss = F.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(q_net.parameters(), 10.0)
    optimizer.step()
    losses.append(loss.item())
    if t % 100 == 99:
        print(t + 1, "loss", round(sum(losses[-50:]) / 50, 5))

with torch.no_grad():
    print("values", [round(v, 2) for v in q_net(encode(range(CELLS - 1))).max(1).values.tolist()])
