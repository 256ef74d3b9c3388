# Learn a pair potential from energies and forces of small clusters (5 particles in 2d).
import torch
import torch.nn as nn

torch.manual_seed(2)
N_ATOMS, N_CONF = 5, 96
iu = torch.triu_indices(N_ATOMS, N_ATOMS, offset=1)


def distances(pos):
    d = pos[:, iu[0]] - pos[:, iu[1]]
    return d.pow(2).sum(-1).add(1e-6).sqrt()


def reference_energy(pos):
    r = distances(pos)
    return (torch.exp(-2 * (r - 1)) - 2 * torch.exp(-(r - 1))).sum(1)


def make_data():
    base = torch.tensor([[0., 0.], [1.1, 0.], [0., 1.2], [1.2, 1.1], [0.6, 2.1]])
    pos = (base + 0.25 * torch.randn(N_CONF, N_ATOMS, 2)).requires_grad_(True)
    e = reference_energy(pos)
    f = -torch.autograd.grad(e.sum(), pos)[0]
    return pos.detach(), e.detach(), f


class PairPotential(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                                 nn.Linear(width, 1))

    def forward(self, pos):
        r = distances(pos)
        return self.net(r.unsqueeze(-1)).squeeze(-1).sum(1)


def energy_and_forces(model, pos):
    pos = pos.clone().requires_grad_(True)
    energy = model(pos)
    forces = -torch.autograd.grad(energy.sum(), pos, retain_graph=True)[0]
    return energy, forces


pos, e_ref, f_ref = make_data()
model = PairPotential()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
w_energy, w_force = 0.01, 1.0

for step in range(250):
    e, f = energy_and_forces(model, pos)
    loss_e = (e - e_ref).pow(2).mean()
    loss_f = (f - f_ref).pow(2).mean()
    loss = w_energy * loss_e + w_force * loss_f
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 or step == 249:
        print(f"{step:4d}  energy {loss_e.item():.4f}  force {loss_f.item():.4f}")
