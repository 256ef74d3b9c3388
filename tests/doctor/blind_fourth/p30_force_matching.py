import torch
import torch.nn as nn

torch.manual_seed(64)
torch.set_num_threads(1)


class EnergyModel(nn.Module):
    """Pair energies from distances; forces by autograd."""

    def __init__(self, width=24):
        super().__init__()
        self.pair = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, pos):
        i, j = torch.triu_indices(pos.size(1), pos.size(1), offset=1)
        dist = (pos[:, i] - pos[:, j]).norm(dim=-1, keepdim=True)
        return self.pair(dist).sum(dim=(1, 2))


def true_energy(pos):
    i, j = torch.triu_indices(pos.size(1), pos.size(1), offset=1)
    dist = (pos[:, i] - pos[:, j]).norm(dim=-1)
    return ((dist - 1.2) ** 2).sum(dim=1)


def with_forces(energy_fn, pos, training):
    pos = pos.detach().requires_grad_(True)
    energy = energy_fn(pos)
    grad = torch.autograd.grad(energy.sum(), pos, create_graph=training)[0]
    return (energy if training else energy.detach()), -grad


def molecules(n):
    corners = torch.tensor([[0.0, 0, 0], [1.2, 0, 0], [0, 1.2, 0], [0, 0, 1.2]])
    return corners + 0.15 * torch.randn(n, 4, 3)


model = EnergyModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    pos = molecules(32)
    energy_ref, forces_ref = with_forces(true_energy, pos, training=False)
    energy, forces = with_forces(model, pos, training=True)
    loss = 0.1 * (energy - energy_ref).pow(2).mean() + (forces - forces_ref).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        _, check = with_forces(model, pos, training=False)
        print(step, f"loss {loss.item():.4f} force error {(check - forces_ref).abs().mean().item():.4f}")
