"""Deep Q-learning: a replay memory, and a target network that gets no gradients."""

import copy
import random
from collections import deque

import torch
import torch.nn.functional as F
from cartpole import CartPole
from torch import nn


def main() -> None:
    torch.manual_seed(9)
    chance = random.Random(9)
    world = CartPole(seed=9)
    online = nn.Sequential(nn.Linear(4, 96), nn.Tanh(), nn.Linear(96, 2))
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.AdamW(online.parameters(), lr=1e-3)
    memory: deque = deque(maxlen=2000)

    state = world.reset()
    lengths, length = [], 0
    for step in range(1, 1501):
        if chance.random() < max(0.05, 1 - step / 600):
            action = chance.randrange(2)
        else:
            with torch.no_grad():
                action = int(online(torch.tensor(state)).argmax())
        after, reward, done = world.step(action)
        memory.append((state, action, reward, after, float(done)))
        state, length = after, length + 1
        if done:
            lengths.append(length)
            state, length = world.reset(), 0
        if step < 64:
            continue

        batch = chance.sample(memory, 64)
        states, actions, rewards, afters, ends = (torch.tensor(column) for column in zip(*batch))
        predicted = online(states).gather(1, actions[:, None]).squeeze(1)
        with torch.no_grad():
            wanted = rewards + 0.98 * (1 - ends) * target(afters).max(dim=1).values
        loss = F.smooth_l1_loss(predicted, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():  # the target follows slowly
            for slow, fast in zip(target.parameters(), online.parameters()):
                slow.lerp_(fast, 0.02)
        if step % 300 == 0:
            recent = sum(lengths[-5:]) / len(lengths[-5:])
            print(f"step {step:4d}  loss {loss.item():.4f}  mean length {recent:.1f}")


if __name__ == "__main__":
    main()
