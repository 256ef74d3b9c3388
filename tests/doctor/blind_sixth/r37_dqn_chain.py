"""DQN with replay memory and a periodically copied target network."""
import copy
import random
from collections import deque, namedtuple
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)
Transition = namedtuple("Transition", "s a r s2 done")
N = 5


def one_hot(i):
    return F.one_hot(torch.tensor(i), N).float()


def step(i, a):
    j = min(N - 1, i + 1) if a == 1 else max(0, i - 1)
    return j, float(j == N - 1), j == N - 1


policy = nn.Sequential(nn.Linear(N, 32), nn.ReLU(inplace=True), nn.Linear(32, 2))
target = copy.deepcopy(policy)
for p in target.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
memory = deque(maxlen=500)


def act(state, eps):
    if random.random() < eps:
        return random.randrange(2)
    with torch.no_grad():
        return policy(state).argmax().item()


def learn(batch=32, gamma=0.9):
    b = Transition(*zip(*random.sample(memory, batch)))
    s, s2 = torch.stack(b.s), torch.stack(b.s2)
    a, r, done = torch.tensor(b.a), torch.tensor(b.r), torch.tensor(b.done).float()
    q = policy(s).gather(1, a.unsqueeze(1)).squeeze(1)
    q_next = target(s2).max(1).values
    loss = F.smooth_l1_loss(q, r + gamma * q_next * (1 - done))
    opt.zero_grad()
    loss.backward()
    for p in policy.parameters():
        p.grad.clamp_(-1, 1)
    opt.step()
    return loss.item()


updates, last = 0, 0.0
for episode in range(30):
    i = 0
    for t in range(15):
        s = one_hot(i)
        a = act(s, eps=max(0.1, 1 - episode / 20))
        i, r, done = step(i, a)
        memory.append(Transition(s, a, r, one_hot(i), done))
        if len(memory) >= 64:
            last = learn()
            updates += 1
            if updates % 20 == 0:
                target.load_state_dict(policy.state_dict())
        if done:
            break
    if episode % 10 == 9:
        print(f"episode {episode + 1} steps {t + 1} loss {last:.4f}")
