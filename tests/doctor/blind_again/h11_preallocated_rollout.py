import torch
import torch.nn as nn


class Oscillator(nn.Module):
    """Damped oscillator with unknown stiffness and damping, integrated by symplectic Euler."""

    def __init__(self):
        super().__init__()
        self.raw = nn.Parameter(torch.tensor([0.0, -1.0]))

    def rollout(self, x0, v0, steps, h=0.1):
        stiffness, damping = self.raw.exp()
        path = torch.zeros(steps + 1, *x0.shape)
        path[0] = x0
        x, v = x0, v0
        for k in range(steps):
            v = v - h * (stiffness * x + damping * v)
            x = x + h * v
            path[k + 1] = x
        path[1:] -= path[0].clone()
        return path


@torch.no_grad()
def observe(n, steps):
    truth = Oscillator()
    truth.raw.copy_(torch.tensor([2.5, 0.3]).log())
    x0, v0 = torch.randn(n), torch.randn(n)
    clean = truth.rollout(x0, v0, steps)
    return x0, v0, clean + 0.01 * torch.randn_like(clean)


torch.manual_seed(14)
x0, v0, measured = observe(16, 30)
model = Oscillator()
opt = torch.optim.Adam(model.parameters(), lr=0.05)
for it in range(60):
    opt.zero_grad()
    error = model.rollout(x0, v0, 30) - measured
    loss = error.square().mean()
    loss.backward()
    opt.step()
print("stiffness, damping:", [round(v, 3) for v in model.raw.detach().exp().tolist()], "loss", round(loss.item(), 6))
