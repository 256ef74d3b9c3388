"""A loop with Accelerate that keeps its losses with their graphs."""

import torch
from accelerate import Accelerator

torch.manual_seed(0)
accelerator = Accelerator(cpu=True)
cell = torch.nn.GRUCell(4, 8)
head = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=1e-2)
data = torch.utils.data.TensorDataset(torch.randn(48, 4), torch.randn(48, 1))
loader = torch.utils.data.DataLoader(data, batch_size=4)
cell, head, optimizer, loader = accelerator.prepare(cell, head, optimizer, loader)
state = torch.zeros(4, 8)
losses = []
for x, y in loader:
    optimizer.zero_grad()
    state = cell(x, state.detach())
    loss = (head(state) - y).pow(2).mean()
    accelerator.backward(loss)
    optimizer.step()
    losses.append(loss)  # fault
