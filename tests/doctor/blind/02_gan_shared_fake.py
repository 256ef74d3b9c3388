import torch
from torch import nn

torch.manual_seed(0)
LATENT, BATCH = 8, 64
real_data = torch.randn(1024, 2) @ torch.tensor([[1.0, 0.4], [0.0, 0.5]]) + torch.tensor([2.0, -1.0])

G = nn.Sequential(nn.Linear(LATENT, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
fixed_noise = torch.randn(256, LATENT)


def train_discriminator(real, fake):
    opt_d.zero_grad()
    ones = torch.ones(real.size(0), 1)
    zeros = torch.zeros(fake.size(0), 1)
    loss_real = bce(D(real), ones)
    loss_fake = bce(D(fake), zeros)
    loss = loss_real + loss_fake
    loss.backward()
    opt_d.step()
    return loss.item()


def train_generator(fake):
    opt_g.zero_grad()
    # generator wants D to say "real"
    loss = bce(D(fake), torch.ones(fake.size(0), 1))
    loss.backward()
    opt_g.step()
    return loss.item()


for step in range(150):
    idx = torch.randint(0, real_data.size(0), (BATCH,))
    real = real_data[idx]
    z = torch.randn(BATCH, LATENT)
    fake = G(z)
    d_loss = train_discriminator(real, fake)
    g_loss = train_generator(fake)
    if step % 50 == 0:
        with torch.no_grad():
            mean = G(fixed_noise).mean(0)
        print(f"{step:4d} d {d_loss:.3f} g {g_loss:.3f} mean {mean.tolist()}")

with torch.no_grad():
    print("final mean", G(fixed_noise).mean(0).tolist(), "target", real_data.mean(0).tolist())
