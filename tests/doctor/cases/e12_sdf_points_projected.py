import math

import torch
import torch.nn as nn

torch.manual_seed(6)


class SDF(nn.Module):
    """Signed distance to a closed curve, with a Fourier lift of the coordinates."""

    def __init__(self, frequencies=4, width=24):
        super().__init__()
        self.register_buffer("freq", 2.0 ** torch.arange(frequencies) * math.pi / 4)
        self.net = nn.Sequential(
            nn.Linear(2 + 4 * frequencies, width), nn.Softplus(beta=20), nn.Linear(width, 1)
        )

    def forward(self, xy):
        angles = (xy[..., None] * self.freq).flatten(-2)
        return self.net(torch.cat([xy, angles.sin(), angles.cos()], -1)).squeeze(-1)


def star(n):
    t = torch.rand(n) * 2 * math.pi
    radius = 0.6 + 0.15 * torch.cos(3 * t)
    return torch.stack([radius * t.cos(), radius * t.sin()], -1)


def nearest_distance(points, curve):
    inside = points.norm(dim=-1) < 0.6
    return torch.cdist(points, curve).amin(1) * torch.where(inside, -1.0, 1.0)


def pulled(points, distance):
    """One projection step onto the zero set; the next batch is sampled around there."""
    normal, = torch.autograd.grad(distance.sum(), points)
    return (points - distance[:, None] * nn.functional.normalize(normal, dim=-1)).detach()


field = SDF()
optimizer = torch.optim.Adam(field.parameters(), lr=3e-3)
around = torch.rand(32, 2) * 2 - 1
for step in range(8):
    points = (around + 0.1 * torch.randn_like(around)).requires_grad_()
    distance = field(points)
    around = pulled(points, distance)
    loss = nn.functional.l1_loss(distance, nearest_distance(points.detach(), star(128)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.4f}", f"{around.norm(dim=-1).mean().item():.3f}")
