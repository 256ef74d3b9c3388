"""Energy network for a small cluster of atoms, fitted to energies and forces."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_ATOMS, N_FRAMES = 4, 200
pairs = torch.combinations(torch.arange(N_ATOMS), 2)


def distances(pos):
    d = pos[:, pairs[:, 0]] - pos[:, pairs[:, 1]]
    return d.pow(2).sum(-1).add(1e-6).sqrt()


def reference_energy(pos):
    r = distances(pos)
    return ((1 - torch.exp(-(r - 1.2))) ** 2).sum(1)


def reference_data(n):
    base = torch.tensor([[0.0, 0, 0], [1.2, 0, 0], [0, 1.2, 0], [0, 0, 1.2]])
    pos = (base + 0.15 * torch.randn(n, N_ATOMS, 3)).requires_grad_()
    e = reference_energy(pos)
    f = -torch.autograd.grad(e.sum(), pos)[0]
    return pos.detach(), e.detach(), f


class PairNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                                 nn.Linear(width, 1))

    def forward(self, pos):
        return self.phi(distances(pos).unsqueeze(-1)).squeeze(-1).sum(1)


def predict(model, pos):
    pos = pos.clone().requires_grad_(True)
    energy = model(pos)
    forces = -torch.autograd.grad(energy.sum(), pos, retain_graph=True)[0]
    return energy, forces


pos, energy, forces = reference_data(N_FRAMES)
model = PairNet()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
W_E, W_F = 0.01, 1.0

for step in range(200):
    idx = torch.randint(0, N_FRAMES, (32,))
    e, f = predict(model, pos[idx])
    loss_e, loss_f = F.mse_loss(e, energy[idx]), F.mse_loss(f, forces[idx])
    loss = W_E * loss_e + W_F * loss_f
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"{step:4d} energy {loss_e.item():.4f} force {loss_f.item():.4f}")

e, f = predict(model, pos)
print("final force mse", F.mse_loss(f, forces).item())
