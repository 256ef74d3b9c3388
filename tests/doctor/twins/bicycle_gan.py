"""Two backwards add up for the generator; the encoder steps after the first of them."""

import torch
from torch import nn

torch.manual_seed(0)


def net(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 16), nn.LeakyReLU(0.2), nn.Linear(16, outputs))


generator, encoder = net(6 + 2, 6), net(6, 4)
d_vae, d_lr = net(6, 1), net(6, 1)
adversarial, pixelwise, latent = nn.MSELoss(), nn.L1Loss(), nn.L1Loss()
optimizer_e = torch.optim.Adam(encoder.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_d_vae = torch.optim.Adam(d_vae.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_d_lr = torch.optim.Adam(d_lr.parameters(), lr=2e-4, betas=(0.5, 0.999))
valid, fake = torch.ones(8, 1), torch.zeros(8, 1)
for _ in range(14):
    real_a, real_b = torch.randn(8, 6), torch.rand(8, 6)
    optimizer_e.zero_grad()
    optimizer_g.zero_grad()
    mu, logvar = encoder(real_b).chunk(2, dim=1)
    encoded = torch.randn_like(mu) * torch.exp(logvar / 2) + mu
    fake_b = generator(torch.cat([real_a, encoded], 1))
    sampled = torch.randn(8, 2)
    other_b = generator(torch.cat([real_a, sampled], 1))
    loss_pixel = pixelwise(fake_b, real_b)
    loss_kl = torch.sum(0.5 * (mu**2 + torch.exp(logvar) - logvar - 1))
    loss_vae = adversarial(d_vae(fake_b), valid)
    loss_lr = adversarial(d_lr(other_b), valid)
    loss_ge = loss_vae + loss_lr + 10 * loss_pixel + 0.01 * loss_kl
    loss_ge.backward()
    optimizer_e.step()
    again, _ = encoder(generator(torch.cat([real_a, sampled], 1))).chunk(2, dim=1)
    loss_latent = 0.5 * latent(again, sampled)
    loss_latent.backward()
    optimizer_g.step()
    for optimizer, critic, made in (
        (optimizer_d_vae, d_vae, fake_b),
        (optimizer_d_lr, d_lr, other_b),
    ):
        optimizer.zero_grad()
        loss_real = adversarial(critic(real_b), valid)
        loss_fake = adversarial(critic(made.detach()), fake)
        loss_d = 0.5 * (loss_real + loss_fake)
        loss_d.backward()
        optimizer.step()
print(loss_ge.item(), loss_latent.item(), loss_d.item())
