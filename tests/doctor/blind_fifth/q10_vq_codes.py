import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)


class Quantizer(nn.Module):
    def __init__(self, k=16, dim=4, beta=0.25):
        super().__init__()
        self.book = nn.Embedding(k, dim)
        self.book.weight.data.uniform_(-1, 1)
        self.beta = beta

    def forward(self, z):
        dist = torch.cdist(z.detach(), self.book.weight.detach())
        idx = dist.argmin(1)
        q = self.book(idx)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        return q, loss, idx


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
        self.vq = Quantizer()
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        q, vq_loss, idx = self.vq(self.enc(x))
        return self.dec(q), vq_loss, idx


centers = torch.randn(6, 10) * 2
data = centers[torch.randint(0, 6, (512,))] + 0.1 * torch.randn(512, 10)

model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(40):
    tot = 0.0
    used = set()
    for xb in data[torch.randperm(512)].split(64):
        rec, vq_loss, idx = model(xb)
        loss = F.mse_loss(rec, xb) + vq_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
        used.update(idx.tolist())
    if epoch % 13 == 0:
        print(f"epoch {epoch} loss {tot / 8:.4f} codes {len(used)}")
