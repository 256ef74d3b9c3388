import torch
import torch.nn as nn

torch.manual_seed(30)


class RingNetwork(nn.Module):
    """Rate model of head-direction cells: r[t+1] = tanh(W r[t] + B v[t])."""

    def __init__(self, n_cells=24):
        super().__init__()
        self.n_cells = n_cells
        self.recurrent = nn.Parameter(torch.randn(n_cells, n_cells) / n_cells**0.5)
        self.velocity_in = nn.Linear(1, n_cells)
        self.readout = nn.Linear(n_cells, 2)

    def forward(self, velocity):
        steps, batch = velocity.shape
        rates = torch.zeros(steps + 1, batch, self.n_cells)
        for t in range(steps):
            drive = rates[t] @ self.recurrent + self.velocity_in(velocity[t, :, None])
            rates[t + 1] = torch.tanh(drive)
        return self.readout(rates[1:])


def batch_of_paths(steps=15, batch=32):
    velocity = 0.3 * torch.randn(steps, batch)
    heading = velocity.cumsum(0)
    return velocity, torch.stack([heading.cos(), heading.sin()], dim=-1)


net = RingNetwork()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(50):
    velocity, target = batch_of_paths()
    loss = (net(velocity) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"iter {it:3d} loss {loss.item():.4f}")
