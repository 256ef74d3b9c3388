import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(105)


class Binarize(nn.Module):
    """Hard bits forward, sigmoid gradient backward."""

    def forward(self, logits):
        p = torch.sigmoid(logits)
        hard = (p > 0.5).float()
        return hard.detach() - p.detach() + p


class BinaryAE(nn.Module):
    def __init__(self, bits=12):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, bits))
        self.bin = Binarize()
        self.dec = nn.Sequential(nn.Linear(bits, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x):
        code = self.bin(self.enc(x))
        return self.dec(code), code


def hamming_usage(code):
    return code.detach().mean(0)


model = BinaryAE()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
usage = torch.full((12,), 0.5)
protos = torch.randn(16, 8)
for step in range(200):
    x = protos[torch.randint(0, 16, (64,))] + 0.05 * torch.randn(64, 8)
    recon, code = model(x)
    loss = F.mse_loss(recon, x) + 1e-3 * (code.mean(0) - 0.5).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    usage = 0.95 * usage + 0.05 * hamming_usage(code)
    if step % 50 == 0:
        print(f"{step} loss {loss.item():.4f} bits used {((usage > 0.05) & (usage < 0.95)).sum().item()}")
