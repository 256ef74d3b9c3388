# sparse autoencoder on mixtures of a few spectra
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(41)
torch.set_num_threads(1)
BETA = 0.05

spectra = torch.rand(5, 30) ** 3


def mixtures(n):
    share = torch.rand(n, 5) * (torch.rand(n, 5) < 0.4)
    return share @ spectra + 0.01 * torch.randn(n, 30)


class SparseAutoencoder(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.encoder = nn.Linear(30, hidden)
        self.decoder = nn.Linear(hidden, 30)

    def forward(self, x):
        code = F.softplus(self.encoder(x) - 1)
        return self.decoder(code), code


def grad_norm(model):
    return sum(p.grad.pow(2).sum() for p in model.parameters() if p.grad is not None).sqrt().item()


model = SparseAutoencoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8)

for step in range(201):
    x = mixtures(64)
    recon, code = model(x)
    recon_loss = F.mse_loss(recon, x)
    sparsity = code.abs().mean()

    optimizer.zero_grad()
    recon_loss.backward(retain_graph=True)
    norm_recon = grad_norm(model)
    sparsity.backward(retain_graph=True)
    norm_both = grad_norm(model)

    loss = recon_loss + BETA * sparsity
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"{step:3d} recon {recon_loss.item():.4f} sparsity {sparsity.item():.4f}")
        print(f"    gradient norms {norm_recon:.4f} {norm_both:.4f}")
