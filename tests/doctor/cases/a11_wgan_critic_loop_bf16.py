import torch
import torch.nn as nn

torch.manual_seed(5)
N_CRITIC, LATENT, BATCH = 3, 6, 32

generator = nn.Sequential(nn.Linear(LATENT, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_opt = torch.optim.RMSprop(generator.parameters(), lr=5e-4)
c_opt = torch.optim.RMSprop(critic.parameters(), lr=5e-4)


def ring(n):
    angle = torch.rand(n, 1) * 6.2832
    return torch.cat([angle.sin(), angle.cos()], dim=1)


def amp():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def critic_step(real, fake):
    with amp():
        loss = critic(fake).float().mean() - critic(real).float().mean()
    c_opt.zero_grad()
    loss.backward()
    c_opt.step()
    with torch.no_grad():
        for p in critic.parameters():
            p.clamp_(-0.1, 0.1)
    return -loss.item()


def generator_step():
    with amp():
        loss = -critic(generator(torch.randn(BATCH, LATENT))).float().mean()
    g_opt.zero_grad()
    loss.backward()
    g_opt.step()
    return loss.item()


for it in range(8):
    with amp():
        fake = generator(torch.randn(BATCH, LATENT))
    for _ in range(N_CRITIC):
        distance = critic_step(ring(BATCH), fake)
    g_loss = generator_step()
    if it % 2 == 1:
        print(f"{it}: distance {distance:.4f} generator {g_loss:.4f}")
