import torch
import torch.nn as nn

torch.manual_seed(13)


class SDFDecoder(nn.Module):
    def __init__(self, code=6, width=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(code + 2, width), nn.Softplus(beta=10),
            nn.Linear(width, width), nn.Softplus(beta=10),
            nn.Linear(width, 1))

    def forward(self, code, pts):
        code = code.unsqueeze(1).expand(-1, pts.size(1), -1)
        return self.net(torch.cat([code, pts], -1)).squeeze(-1)


def circle_sdf(pts, radius, center):
    return (pts - center[:, None]).norm(dim=-1) - radius[:, None]


class AutoDecoder:
    def __init__(self, n_shapes, code_dim=6):
        self.decoder = SDFDecoder(code_dim)
        self.codes = torch.randn(n_shapes, code_dim, requires_grad=True) * 0.01
        self.opt = torch.optim.Adam([
            {"params": self.decoder.parameters(), "lr": 2e-3},
            {"params": [self.codes], "lr": 1e-2},
        ])

    def step(self, idx, pts, target):
        self.opt.zero_grad()
        pred = self.decoder(self.codes[idx], pts)
        fit = (pred.clamp(-0.3, 0.3) - target.clamp(-0.3, 0.3)).abs().mean()
        prior = self.codes[idx].pow(2).sum(-1).mean()
        loss = fit + 1e-4 * prior
        loss.backward()
        self.opt.step()
        return fit.item()


n = 16
radius = 0.3 + 0.4 * torch.rand(n)
center = 0.4 * torch.rand(n, 2) - 0.2
trainer = AutoDecoder(n)
for it in range(80):
    idx = torch.randperm(n)[:8]
    pts = torch.rand(8, 64, 2) * 2 - 1
    fit = trainer.step(idx, pts, circle_sdf(pts, radius[idx], center[idx]))
print(f"fit {fit:.4f}")
