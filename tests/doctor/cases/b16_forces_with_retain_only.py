import torch
import torch.nn as nn


class PairPotential(nn.Module):
    """Energy as a sum over pairs of a learned function of the distance."""

    def __init__(self, hidden=20):
        super().__init__()
        self.pair = nn.Sequential(nn.Linear(1, hidden), nn.Softplus(), nn.Linear(hidden, 1))

    def forward(self, positions):
        i, j = torch.triu_indices(len(positions), len(positions), offset=1)
        distance = (positions[i] - positions[j]).norm(dim=1, keepdim=True)
        return self.pair(distance).sum()


def energy_and_forces(potential, positions):
    positions = positions.detach().clone().requires_grad_(True)
    energy = potential(positions)
    gradient = torch.autograd.grad(energy, positions, retain_graph=True)[0]
    return energy, -gradient


def reference(positions):
    """Springs with a rest length of one."""
    positions = positions.clone().requires_grad_(True)
    i, j = torch.triu_indices(len(positions), len(positions), offset=1)
    energy = ((positions[i] - positions[j]).norm(dim=1) - 1).square().sum()
    return energy.detach(), -torch.autograd.grad(energy, positions)[0]


torch.manual_seed(0)
frames = [torch.randn(4, 3) for _ in range(10)]
DATA = [(frame, *reference(frame)) for frame in frames]
potential = PairPotential()
optimizer = torch.optim.Adam(potential.parameters(), lr=1e-2)

for epoch in range(12):
    energy_error = force_error = 0.0
    for frame, true_energy, true_forces in DATA:
        energy, forces = energy_and_forces(potential, frame)
        energy_loss = (energy - true_energy).square() / len(frame)
        force_loss = (forces - true_forces).square().mean()
        optimizer.zero_grad()
        (energy_loss + 5.0 * force_loss).backward()
        nn.utils.clip_grad_norm_(potential.parameters(), 10.0)
        optimizer.step()
        energy_error += energy_loss.item()
        force_error += force_loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch} energy {energy_error:.3f} forces {force_error:.3f}")
