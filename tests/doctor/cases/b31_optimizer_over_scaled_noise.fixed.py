import torch
import torch.nn as nn
import torch.nn.functional as F


class Decoder(nn.Module):
    def __init__(self, latent=6, pixels=24):
        super().__init__()
        self.a = nn.Linear(latent, 32)
        self.b = nn.Linear(32, pixels)

    def forward(self, z):
        return torch.sigmoid(self.b(F.gelu(self.a(z))))


def invert(decoder, target, latent=6, steps=60, lr=0.05, prior=1e-3):
    """Latent codes whose images are closest to the targets."""
    z = (torch.randn(len(target), latent) * 0.1).requires_grad_(True)
    optimizer = torch.optim.Adam([z], lr=lr)
    best = float("inf")
    for step in range(steps):
        optimizer.zero_grad()
        image = decoder(z)
        loss = F.mse_loss(image, target) + prior * z.square().mean()
        loss.backward()
        optimizer.step()
        best = min(best, loss.item())
        if step % 20 == 0:
            print(f"step {step:2d} loss {loss.item():.5f}")
    return z.detach(), best


def main():
    torch.manual_seed(0)
    decoder = Decoder().requires_grad_(False)
    for layer in (decoder.a, decoder.b):
        layer.weight.mul_(3)
    truth = torch.randn(5, 6)
    codes, best = invert(decoder, decoder(truth))
    print(f"best {best:.5f}, codes off by {(codes - truth).norm().item():.3f}")


main()
