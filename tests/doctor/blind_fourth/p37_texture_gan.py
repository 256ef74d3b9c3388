import torch
import torch.nn as nn

torch.manual_seed(29)
torch.set_num_threads(1)
nz, batch = 8, 32

generator = nn.Sequential(
    nn.Linear(nz, 32 * 2 * 2), nn.ReLU(), nn.Unflatten(1, (32, 2, 2)),
    nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.ReLU(),
    nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1), nn.Tanh(),
)
discriminator = nn.Sequential(
    nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
    nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
    nn.Flatten(), nn.Linear(128, 1),
)
bce = nn.BCEWithLogitsLoss()
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
start = [p.detach().clone() for p in generator.parameters()]


def stripes(n):
    rows = torch.arange(8) % 2 * 2.0 - 1
    img = rows[None, None, :, None].expand(n, 1, 8, 8)
    return (img + 0.1 * torch.randn(n, 1, 8, 8)).clamp(-1, 1)


for step in range(100):
    real = stripes(batch)
    fake = generator(torch.randn(batch, nz))

    # discriminator
    d_real = bce(discriminator(real), torch.ones(batch, 1))
    d_fake = bce(discriminator(fake.detach()), torch.zeros(batch, 1))
    d_loss = d_real + d_fake
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    # generator
    g_loss = bce(discriminator(fake.detach()), torch.ones(batch, 1))
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()

    if step % 25 == 0:
        print(f"{step}: d {d_loss.item():.3f} g {g_loss.item():.3f}")

moved = sum((a - b).abs().sum().item() for a, b in zip(start, generator.parameters()))
print("generator moved by", round(moved, 3))
