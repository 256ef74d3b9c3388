import torch
import torch.nn as nn

torch.manual_seed(64)
torch.set_num_threads(1)

LAMBDA, N_CRITIC, BATCH = 10.0, 3, 64


def net(i, o, h=48):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


def real_batch():
    k = torch.randint(0, 4, (BATCH,))
    ctr = torch.tensor([[2.0, 0], [-2, 0], [0, 2], [0, -2]])
    return ctr[k] + 0.1 * torch.randn(BATCH, 2)


def interpolate(real, fake):
    eps = torch.rand(BATCH, 1)
    return (eps * real + (1 - eps) * fake).requires_grad_(True)


def gradient_penalty(critic, real, fake):
    mixed = interpolate(real, fake)
    score = critic(mixed)
    gradients = torch.autograd.grad(
        outputs=score,
        inputs=mixed,
        grad_outputs=torch.ones_like(score),
        retain_graph=True,
    )[0]
    norm = gradients.norm(2, dim=1)
    return ((norm - 1) ** 2).mean(), norm.mean()


gen, critic = net(4, 2), net(2, 1)
g_opt = torch.optim.Adam(gen.parameters(), lr=5e-4, betas=(0.0, 0.9))
c_opt = torch.optim.Adam(critic.parameters(), lr=5e-4, betas=(0.0, 0.9))

for it in range(150):
    for _ in range(N_CRITIC):
        real = real_batch()
        with torch.no_grad():
            fake = gen(torch.randn(BATCH, 4))
        gp, norm = gradient_penalty(critic, real, fake)
        c_loss = critic(fake).mean() - critic(real).mean() + LAMBDA * gp
        c_opt.zero_grad()
        c_loss.backward()
        c_opt.step()

    g_loss = -critic(gen(torch.randn(BATCH, 4))).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    if it % 50 == 0 or it == 149:
        print(f"iter {it} critic {c_loss.item():.3f} penalty {gp.item():.3f} norm {norm.item():.3f}")
