import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(5)
torch.manual_seed(5)

SIZE, GOAL = 4, (3, 3)
MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]


def encode(pos):
    v = torch.zeros(SIZE * SIZE)
    v[pos[0] * SIZE + pos[1]] = 1.0
    return v


def move(pos, a):
    r = min(max(pos[0] + MOVES[a][0], 0), SIZE - 1)
    c = min(max(pos[1] + MOVES[a][1], 0), SIZE - 1)
    done = (r, c) == GOAL
    return (r, c), (1.0 if done else -0.05), done


online = nn.Sequential(nn.Linear(SIZE * SIZE, 32), nn.ReLU(), nn.Linear(32, 4))
target = copy.deepcopy(online)
target.requires_grad_(False)
optimizer = torch.optim.Adam(online.parameters(), lr=5e-3)
replay = deque(maxlen=2000)


def learn():
    s, a, r, s2, done = zip(*random.sample(replay, 32))
    s, s2 = torch.stack(s), torch.stack(s2)
    a, r = torch.tensor(a), torch.tensor(r)
    alive = 1 - torch.tensor(done, dtype=torch.float)
    with torch.no_grad():
        best = online(s2).argmax(1, keepdim=True)
        goal = r + 0.9 * alive * target(s2).gather(1, best).squeeze(1)
    q = online(s).gather(1, a.unsqueeze(1)).squeeze(1)
    loss = F.smooth_l1_loss(q, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


updates = 0
for episode in range(40):
    pos, done, steps = (0, 0), False, 0
    while not done and steps < 30:
        if random.random() < max(0.1, 1 - episode / 25):
            a = random.randrange(4)
        else:
            with torch.no_grad():
                a = online(encode(pos)).argmax().item()
        new, r, done = move(pos, a)
        replay.append((encode(pos), a, r, encode(new), done))
        pos, steps = new, steps + 1
        if len(replay) >= 64:
            loss = learn()
            updates += 1
            if updates % 50 == 0:
                target.load_state_dict(online.state_dict())
    if episode % 10 == 9:
        print(f"episode {episode} steps {steps} loss {loss:.4f}")
