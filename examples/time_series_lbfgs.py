"""LBFGS on a time series: the optimizer calls the model itself, through a closure.

The closure runs the forward pass, so each of its calls has a graph of its own; a loss computed
outside of it would be walked backward twice.
"""

import torch
from torch import nn


class Predictor(nn.Module):
    """An LSTM cell that reads a wave and goes on by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(1, 16)
        self.read = nn.Linear(16, 1)

    def forward(self, values: torch.Tensor, further: int = 0) -> torch.Tensor:
        hidden = torch.zeros(len(values), 16, dtype=values.dtype)
        memory = torch.zeros_like(hidden)
        outputs = []
        for step in range(values.size(1) + further):
            value = values[:, step : step + 1] if step < values.size(1) else outputs[-1]
            hidden, memory = self.cell(value, (hidden, memory))
            outputs.append(self.read(hidden))
        return torch.cat(outputs, dim=1)


def main() -> None:
    torch.manual_seed(13)
    phases = torch.rand(8, 1, dtype=torch.float64) * 6
    waves = torch.sin(torch.arange(40, dtype=torch.float64) / 4 + phases)
    model = Predictor().double()
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(
        model.parameters(), lr=0.8, max_iter=8, line_search_fn="strong_wolfe"
    )

    for step in range(1, 6):
        calls = 0

        def closure() -> torch.Tensor:
            nonlocal calls
            calls += 1
            optimizer.zero_grad()
            loss = criterion(model(waves[:, :-1]), waves[:, 1:])
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        print(f"step {step}  loss {loss.item():.4f}  after {calls} calls")

    with torch.no_grad():
        future = model(waves[:, :30], further=9)[:, 29:-1]
    print(f"error of a free run {criterion(future, waves[:, 30:39]).item():.4f}")


if __name__ == "__main__":
    main()
