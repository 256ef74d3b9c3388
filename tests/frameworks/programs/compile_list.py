"""A compiled module in a loop that keeps its losses with their graphs."""

import torch

torch.manual_seed(0)


class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(12, 8)

    def forward(self, x, state):
        return torch.tanh(self.layer(torch.cat([x, state], 1)))


cell, head = Cell(), torch.nn.Linear(8, 1)
compiled = torch.compile(cell, backend="aot_eager")
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=1e-2)
state = torch.zeros(4, 8)
losses = []
for _ in range(12):
    optimizer.zero_grad()
    state = compiled(torch.randn(4, 4), state.detach())
    loss = (head(state) - 1.0).pow(2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss)  # fault
