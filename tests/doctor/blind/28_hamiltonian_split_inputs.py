import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(57)


class HNN(nn.Module):
    """Hamiltonian network: learns H(q, p), dynamics are dq = dH/dp, dp = -dH/dq."""

    def __init__(self, hid=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hid), nn.Tanh(), nn.Linear(hid, hid), nn.Tanh(),
                                 nn.Linear(hid, 1, bias=False))

    def hamiltonian(self, q, p):
        return self.net(torch.cat([q, p], dim=1))

    def time_derivative(self, state):
        state = state.clone().requires_grad_(True)
        q, p = state[:, :1], state[:, 1:]
        H = self.net(state).sum()
        dH_dq, dH_dp = torch.autograd.grad(H, (q, p), create_graph=self.training)
        return torch.cat([dH_dp, -dH_dq], dim=1)


def true_derivative(state):
    q, p = state[:, :1], state[:, 1:]
    return torch.cat([p, -torch.sin(q)], dim=1)


@torch.no_grad()
def sample_states(n):
    return torch.rand(n, 2) * 3 - 1.5


def energy(state):
    return (0.5 * state[:, 1] ** 2 + 1 - torch.cos(state[:, 0])).mean().item()


model = HNN()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(200):
    model.train()
    s = sample_states(64)
    target = true_derivative(s) + 0.02 * torch.randn(64, 2)
    loss = F.mse_loss(model.time_derivative(s), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.4f}")

# energy should stay almost constant along the learnt dynamics
model.eval()
s = sample_states(8)
e0 = energy(s)
for _ in range(50):
    k1 = model.time_derivative(s).detach()
    k2 = model.time_derivative(s + 0.05 * k1).detach()
    s = s + 0.025 * (k1 + k2)
print(f"energy {e0:.3f} -> {energy(s):.3f}")
