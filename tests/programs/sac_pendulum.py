"""Soft actor-critic on a pendulum: reparametrised actions, twin critics, slow targets, tuned alpha."""

import copy
import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

Transition = namedtuple("Transition", "obs action reward next_obs")


class Pendulum:
    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.angle, self.speed, self.t = self.rng.uniform(-np.pi, np.pi), self.rng.uniform(-1, 1), 0
        return self.observe()

    def observe(self):
        return np.array([np.cos(self.angle), np.sin(self.angle), self.speed], dtype=np.float32)

    def step(self, torque):
        torque = float(np.clip(torque, -2, 2).item())
        wrapped = (self.angle + np.pi) % (2 * np.pi) - np.pi
        cost = wrapped**2 + 0.1 * self.speed**2 + 0.001 * torque**2
        self.speed = np.clip(self.speed + 0.05 * (15 * np.sin(self.angle) + 3 * torque), -8, 8)
        self.angle += 0.05 * self.speed
        self.t += 1
        return self.observe(), -cost, self.t == 100


def mlp(n_in, n_out, hidden=32):
    return nn.Sequential(
        nn.Linear(n_in, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, n_out),
    )


class TwinQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1, self.q2 = mlp(4, 1), mlp(4, 1)

    def forward(self, obs, action):
        x = torch.cat([obs, action], dim=-1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)


class SquashedGaussian(nn.Module):
    def __init__(self, bound=2.0):
        super().__init__()
        self.net = mlp(3, 2)
        self.register_buffer("bound", torch.tensor(bound))

    def forward(self, obs):
        mean, raw = self.net(obs).chunk(2, dim=-1)
        normal = Normal(mean, torch.exp(-1.5 + 3.5 * torch.tanh(raw)))
        before = normal.rsample()
        squashed = before.tanh()
        log_prob = normal.log_prob(before)
        log_prob -= (
            self.bound * (1 - squashed.square()) + 1e-6
        ).log()  # in place, on a fresh tensor
        return squashed * self.bound, log_prob.sum(-1)


class Memory:
    def __init__(self, capacity):
        self.items = deque(maxlen=capacity)

    def sample(self, n):
        columns = zip(*random.sample(self.items, n))
        return Transition(*(torch.as_tensor(np.array(c, dtype=np.float32)) for c in columns))


def train(seed=1, total=240, warmup=60, batch=64, gamma=0.97, tau=0.02, target_entropy=-1.0):
    random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)
    world, memory = Pendulum(seed), Memory(5000)
    actor, critic = SquashedGaussian(), TwinQ()
    target = copy.deepcopy(critic).requires_grad_(False)
    log_alpha = torch.zeros((), requires_grad=True)
    optimizers = {
        "critic": torch.optim.Adam(critic.parameters(), lr=1e-3),
        "actor": torch.optim.Adam(actor.parameters(), lr=5e-4),
        "alpha": torch.optim.Adam([log_alpha], lr=1e-3),
    }

    def minimise(name, loss):
        optimizers[name].zero_grad()
        loss.backward()
        optimizers[name].step()
        return loss.item()

    obs = world.reset()
    for step in range(1, total + 1):
        if step <= warmup:
            action = world.rng.uniform(-2, 2, size=1).astype(np.float32)
        else:
            with torch.no_grad():
                action = actor(torch.from_numpy(obs)[None])[0].numpy()[0]
        next_obs, reward, ended = world.step(action)
        memory.items.append(Transition(obs, action, reward, next_obs))
        obs = world.reset() if ended else next_obs
        if step <= warmup + 4:
            continue

        b = memory.sample(batch)
        alpha = log_alpha.detach().exp()
        with torch.no_grad():
            a, log_prob = actor(b.next_obs)
            wanted = b.reward + gamma * (torch.min(*target(b.next_obs, a)) - alpha * log_prob)
        critic_loss = minimise(
            "critic", sum(F.mse_loss(q, wanted) for q in critic(b.obs, b.action))
        )

        critic.requires_grad_(False)
        a, log_prob = actor(b.obs)
        actor_loss = minimise("actor", (alpha * log_prob - torch.min(*critic(b.obs, a))).mean())
        critic.requires_grad_(True)
        alpha_loss = minimise(
            "alpha", -(log_alpha.exp() * (log_prob.detach() + target_entropy)).mean()
        )

        with torch.no_grad():
            for slow, fast in zip(target.parameters(), critic.parameters()):
                slow.data.mul_(1 - tau).add_(fast.data, alpha=tau)

        if step % 40 == 0:
            print(
                f"{step}: critic {critic_loss:.4f} actor {actor_loss:.4f} alpha {log_alpha.exp().item():.4f} ({alpha_loss:.4f})"
            )


if __name__ == "__main__":
    train()
