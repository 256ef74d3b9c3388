import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(50)
torch.set_num_threads(1)
LATENT = 6


def glyphs(n):
    """Crosses of random thickness on a 7 by 7 grid."""
    img = -torch.ones(n, 7, 7)
    img[:, 3, :] = 1.0
    img[:, :, 3] = 1.0
    return img.flatten(1) + 0.1 * torch.randn(n, 49)


def set_trainable(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


G = nn.Sequential(nn.Linear(LATENT, 64), nn.ReLU(), nn.Linear(64, 49), nn.Tanh())
D = nn.Sequential(nn.Linear(49, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt = {
    "G": torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999)),
    "D": torch.optim.Adam(D.parameters(), lr=5e-4, betas=(0.5, 0.999)),
}

for it in range(200):
    real = glyphs(64)
    fake = G(torch.randn(64, LATENT))

    set_trainable(D, True)
    loss_real = F.binary_cross_entropy_with_logits(D(real), torch.ones(64, 1))
    loss_fake = F.binary_cross_entropy_with_logits(D(fake.detach()), torch.zeros(64, 1))
    opt["D"].zero_grad()
    loss_real.backward()
    loss_fake.backward()
    opt["D"].step()

    set_trainable(D, False)
    loss_g = F.binary_cross_entropy_with_logits(D(fake), torch.ones(64, 1))
    opt["G"].zero_grad()
    loss_g.backward()
    opt["G"].step()

    if it % 50 == 0:
        print(it, f"D {(loss_real + loss_fake).item():.3f} G {loss_g.item():.3f}")

with torch.no_grad():
    mean_image = G(torch.randn(300, LATENT)).mean(0)
print("distance to the mean glyph", (mean_image - glyphs(300).mean(0)).abs().mean().item())
