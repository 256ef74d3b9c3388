"""Auto-decoder: one latent code per shape, learned together with the decoder."""
import math

import torch
from torch import nn

torch.manual_seed(4)
torch.set_num_threads(1)
n_shapes, code_dim = 12, 4


def signed_distance(points, radius, squash):
    scaled = points * torch.stack([torch.ones_like(squash), squash], dim=-1)[:, None]
    return scaled.norm(dim=-1) - radius[:, None]


radius = 0.4 + 0.4 * torch.rand(n_shapes)
squash = 0.7 + 0.6 * torch.rand(n_shapes)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2 + code_dim, 48), nn.Softplus(beta=5),
            nn.Linear(48, 48), nn.Softplus(beta=5),
            nn.Linear(48, 1),
        )

    def forward(self, codes, points):
        codes = codes[:, None].expand(-1, points.size(1), -1)
        return self.layers(torch.cat([codes, points], dim=-1)).squeeze(-1)


decoder = Decoder()
codes = torch.randn(n_shapes, code_dim, requires_grad=True) / math.sqrt(code_dim)
optimizer = torch.optim.Adam([
    {"params": decoder.parameters(), "lr": 3e-3},
    {"params": [codes], "lr": 1e-2},
])

for it in range(200):
    points = torch.rand(n_shapes, 64, 2) * 2 - 1
    target = signed_distance(points, radius, squash).clamp(-0.5, 0.5)
    pred = decoder(codes, points)
    loss = (pred - target).abs().mean() + 1e-4 * codes.pow(2).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 50 == 0:
        print(it, f"{loss.item():.4f}")
print("code norms", codes.detach().norm(dim=1).mean().item())
