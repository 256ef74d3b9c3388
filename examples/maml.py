"""MAML: learn a start from which one gradient step fits a new sine wave.

The inner step stays in the graph (`create_graph=True`), and the outer backward goes through it.
The parameters of a task are new tensors in every pass; the start itself is never overwritten.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


def task() -> tuple[float, float]:
    """The amplitude and phase of a wave."""
    amplitude, phase = torch.rand(2)
    return 0.5 + 2 * amplitude.item(), math.pi * phase.item()


def points(amplitude: float, phase: float) -> tuple[torch.Tensor, torch.Tensor]:
    inputs = 10 * torch.rand(10, 1) - 5
    return inputs, amplitude * torch.sin(inputs + phase)


def main() -> None:
    torch.manual_seed(6)
    model = nn.Sequential(
        nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1)
    )
    start = dict(model.named_parameters())
    optimizer = torch.optim.Adam(start.values(), lr=2e-3)

    for step in range(1, 61):
        outer = 0.0
        for _ in range(5):
            wave = task()
            inputs, targets = points(*wave)
            inner = F.mse_loss(functional_call(model, start, (inputs,)), targets)
            slopes = torch.autograd.grad(inner, list(start.values()), create_graph=True)
            adapted = {
                name: value - 0.02 * slope for (name, value), slope in zip(start.items(), slopes)
            }
            inputs, targets = points(*wave)
            outer = outer + F.mse_loss(functional_call(model, adapted, (inputs,)), targets) / 5
        optimizer.zero_grad()
        outer.backward()
        optimizer.step()
        if step % 12 == 0:
            print(f"step {step:2d}  loss after one inner step {outer.item():.4f}")


if __name__ == "__main__":
    main()
