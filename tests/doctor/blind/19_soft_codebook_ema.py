import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(15)


class SoftQuantizer(nn.Module):
    """Soft assignment to a codebook; the codebook follows the encoder by EMA."""

    def __init__(self, n_codes, dim, decay=0.95, temp=0.5):
        super().__init__()
        self.decay, self.temp = decay, temp
        self.register_buffer("codes", torch.randn(n_codes, dim))
        self.register_buffer("usage", torch.ones(n_codes))

    @torch.no_grad()
    def ema_update(self, z, assign):
        hits = assign.sum(0)
        self.usage.mul_(self.decay).add_(hits, alpha=1 - self.decay)
        means = assign.t() @ z / hits.clamp(min=1e-4)[:, None]
        self.codes.mul_(self.decay).add_(means, alpha=1 - self.decay)

    def forward(self, z):
        logits = (z @ self.codes.t() - 0.5 * self.codes.pow(2).sum(1)) / self.temp
        assign = logits.softmax(-1)
        quant = assign @ self.codes
        if self.training:
            self.ema_update(z, assign)
        commit = F.mse_loss(z, quant.detach())
        return quant, commit


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
        self.vq = SoftQuantizer(16, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 6))

    def forward(self, x):
        z = self.enc(x)
        q, commit = self.vq(z)
        return self.dec(q), commit


model = AE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
centers = torch.randn(8, 6) * 2
for step in range(200):
    x = centers[torch.randint(0, 8, (64,))] + 0.1 * torch.randn(64, 6)
    recon, commit = model(x)
    rec = F.mse_loss(recon, x)
    loss = rec + 0.1 * commit
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"step {step} recon {rec.item():.3f} commit {commit.item():.3f} used {(model.vq.usage > 0.5).sum().item()}")
