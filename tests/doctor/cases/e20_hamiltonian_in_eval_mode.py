"""Hamiltonian network: the learned energy's gradient gives the flow, which is fitted to data."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    epochs: int = 3
    batches: int = 4
    width: int = 20
    lr: float = 1e-2


class Hamiltonian(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 1, bias=False))

    def flow(self, state):
        state = state.detach().requires_grad_()
        total = self.energy(state).sum()
        dq, dp = torch.autograd.grad(total, state, create_graph=self.training)[0].unbind(-1)
        return torch.stack([dp, -dq], -1)


def pendulum(n=24):
    q, p = (torch.rand(2, n) - 0.5) * 3
    return torch.stack([q, p], -1), torch.stack([p, -q.sin()], -1)


class Experiment:
    def __init__(self, config):
        self.config = config
        self.model = Hamiltonian(config.width)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config.lr)

    def train_epoch(self):
        for _ in range(self.config.batches):
            state, velocity = pendulum()
            loss = nn.functional.mse_loss(self.model.flow(state), velocity)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def drift(self, steps=20, dt=0.05):
        self.model.eval()
        state, _ = pendulum(6)
        start = self.model.energy(state).detach()
        for _ in range(steps):
            state = state + dt * self.model.flow(state)
        return (self.model.energy(state).detach() - start).abs().mean().item()

    def run(self):
        for epoch in range(self.config.epochs):
            print(epoch, f"loss {self.train_epoch():.4f}", f"drift {self.drift():.4f}")


torch.manual_seed(0)
Experiment(Config()).run()
