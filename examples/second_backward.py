"""A training loop with the second-backward mistake, its report, and the loop that works.

    python examples/second_backward.py

A small recurrent network learns to predict the next value of a wave. It carries a state from
step to step. The first loop lets gradients follow that state back into a graph that is already
freed; the second one cuts it with `detach()`. Apart from the report this is an ordinary PyTorch
script: with `import torch` in place of the first import it runs on PyTorch.
"""

import math
import sys

import retrograd as torch

WAVES = 16
WIDTH = 12


class Predictor(torch.nn.Module):
    """Predicts the next value of a wave from the current one and a carried state."""

    def __init__(self):
        super().__init__()
        self.update = torch.nn.Sequential(torch.nn.Linear(1 + WIDTH, WIDTH), torch.nn.ReLU())
        self.read = torch.nn.Linear(WIDTH, 1)

    def forward(self, value, state):
        state = self.update(torch.cat([value, state], dim=1))
        return self.read(state), state


def wave(step):
    """The values of all waves at one step: the same sine, each with its own phase."""
    return torch.tensor([[math.sin(0.4 * step + 0.3 * number)] for number in range(WAVES)])


def train_with_the_mistake(steps):
    model = Predictor()
    criterion = torch.nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    state = torch.zeros(WAVES, WIDTH)
    for step in range(steps):
        prediction, state = model(wave(step), state)
        loss = criterion(prediction, wave(step + 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def train(steps):
    model = Predictor()
    criterion = torch.nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    state = torch.zeros(WAVES, WIDTH)
    losses = []
    for step in range(steps):
        prediction, state = model(wave(step), state.detach())
        loss = criterion(prediction, wave(step + 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    torch.manual_seed(0)
    print("1. A loop that carries its state without detach():\n")
    try:
        train_with_the_mistake(steps=3)
    except RuntimeError as error:
        print(f"RuntimeError: {error}")
        # The report travels as a note, so `except` and message checks see PyTorch's text alone.
        print("\n".join(getattr(error, "__notes__", [])))
    else:
        sys.exit("the second backward() was expected to fail")

    print("\n2. The same loop with state.detach():\n")
    torch.manual_seed(0)
    losses = train(steps=300)
    for step in range(0, len(losses), 50):
        average = sum(losses[step : step + 50]) / 50
        print(f"steps {step:3d} to {step + 49:3d}   average loss {average:.5f}")
    if losses[-1] >= losses[0] / 10:
        sys.exit("the loss did not fall as expected")


if __name__ == "__main__":
    main()
