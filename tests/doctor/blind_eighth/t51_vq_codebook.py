"""VQ autoencoder: straight-through by detach, codebook updated by running averages."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(50)


class EMAQuantizer(nn.Module):
    def __init__(self, k=16, dim=4, decay=0.95):
        super().__init__()
        self.decay = decay
        self.register_buffer("codes", torch.randn(k, dim))
        self.register_buffer("count", torch.ones(k))
        self.register_buffer("total", self.codes.clone())

    def forward(self, z):
        idx = torch.cdist(z.detach(), self.codes).argmin(1)
        q = self.codes[idx]
        if self.training:
            with torch.no_grad():
                hot = F.one_hot(idx, len(self.codes)).float()
                self.count.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
                self.total.mul_(self.decay).add_(hot.t() @ z, alpha=1 - self.decay)
                self.codes.copy_(self.total / self.count.clamp(min=1e-3).unsqueeze(1))
        commit = F.mse_loss(z, q.detach())
        return z + (q - z).detach(), commit, idx


enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 10))
vq = EMAQuantizer()
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=3e-3)

centers = torch.randn(8, 10) * 2
data = centers[torch.randint(0, 8, (400,))] + 0.1 * torch.randn(400, 10)
for epoch in range(25):
    for idx in torch.randperm(400).split(80):
        xb = data[idx]
        z_q, commit, used = vq(enc(xb))
        loss = F.mse_loss(dec(z_q), xb) + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 8 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f} codes used {used.unique().numel()}")
