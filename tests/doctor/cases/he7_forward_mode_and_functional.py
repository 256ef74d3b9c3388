"""Physics-informed fit with torch.func only: no backward call, parameters live in a dict."""
import torch
from torch import nn
from torch.func import functional_call, grad_and_value, jvp, vmap

torch.manual_seed(7)


class Field(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, t):
        return self.net(t[None])[0]


field = Field()
weights = {name: p.detach().clone() for name, p in field.named_parameters()}


def residual(weights, t):
    """u'' + u = 0, derivatives by nested forward mode."""
    u = lambda s: functional_call(field, weights, (s,))
    first = lambda s: jvp(u, (s,), (torch.ones_like(s),))[1]
    value, second = u(t), jvp(first, (t,), (torch.ones_like(t),))[1]
    return second + value


def objective(weights, times):
    interior = vmap(residual, (None, 0))(weights, times).square().mean()
    start = functional_call(field, weights, (torch.zeros(()),)) - 1.0
    return interior + start.square()


step_of = grad_and_value(objective)
velocity = {name: torch.zeros_like(w) for name, w in weights.items()}
for step in range(12):
    grads, value = step_of(weights, torch.rand(16) * 3)
    for name, g in grads.items():
        velocity[name].mul_(0.9).add_(g)
        weights[name] = weights[name] - 0.02 * velocity[name]
    if step % 4 == 0:
        print(step, f"{value.item():.4f}")
field.load_state_dict(weights)
print(f"u(0) = {field(torch.zeros(())).item():.3f}")
