import torch
import torch.nn as nn
import torch.nn.functional as F


class Binarise(torch.autograd.Function):
    """Zero or one forward, identity backward."""

    @staticmethod
    def forward(ctx, x):
        return (x > 0).float()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Quantiser(nn.Module):
    def __init__(self, codes=16, dim=4):
        super().__init__()
        self.codebook = nn.Parameter(torch.randn(codes, dim) * 0.3)

    def forward(self, z):
        index = torch.cdist(z, self.codebook).argmin(1)
        quantised = self.codebook[index]
        codebook_loss = F.mse_loss(quantised, z.detach())
        commitment = F.mse_loss(z, quantised.detach())
        quantised = z + (quantised - z).detach()
        return quantised, codebook_loss + 0.25 * commitment, index


class VQ(nn.Module):
    def __init__(self, features=10):
        super().__init__()
        self.mask = nn.Parameter(torch.randn(features) * 0.1 + 0.1)
        self.encode = nn.Sequential(nn.Linear(features, 24), nn.ReLU(), nn.Linear(24, 4))
        self.quantise = Quantiser()
        self.decode = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, features))

    def forward(self, x):
        quantised, extra, index = self.quantise(self.encode(x * Binarise.apply(self.mask)))
        return self.decode(quantised), extra, index


torch.manual_seed(0)
prototypes = torch.randn(6, 10)
model = VQ()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(80):
    x = prototypes[torch.randint(0, 6, (64,))] + 0.05 * torch.randn(64, 10)
    reconstruction, extra, index = model(x)
    loss = F.mse_loss(reconstruction, x) + extra
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step} loss {loss.item():.4f} codes used {len(index.unique())}")
