import torch
import torch.nn as nn

torch.manual_seed(59)

LAMBDA, N_CRITIC = 10.0, 3


def observed(n):
    temp = torch.randn(n, 1)
    return torch.cat([temp, 0.8 * temp + 0.3 * torch.randn(n, 1)], dim=1) + 1.0


gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.Softplus(), nn.Linear(32, 1))
gen_opt = torch.optim.Adam(gen.parameters(), lr=2e-3, betas=(0.0, 0.9))
critic_opt = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9))


def penalty(real, fake):
    mix = torch.rand(len(real), 1)
    between = torch.lerp(real, fake, mix).requires_grad_(True)
    slopes = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
    return (slopes.norm(2, dim=1) - 1).square().mean()


def critic_step():
    real = observed(64)
    with torch.no_grad():
        fake = gen(torch.randn(64, 4))
    gp = penalty(real, fake)
    loss = critic(fake).mean() - critic(real).mean() + LAMBDA * gp
    critic_opt.zero_grad(set_to_none=True)
    loss.backward()
    critic_opt.step()
    return gp.item()


def generator_step():
    critic.requires_grad_(False)
    loss = -critic(gen(torch.randn(64, 4))).mean()
    gen_opt.zero_grad(set_to_none=True)
    loss.backward()
    gen_opt.step()
    critic.requires_grad_(True)
    return loss.item()


for it in range(120):
    for _ in range(N_CRITIC):
        gp = critic_step()
    g = generator_step()
    if it % 30 == 0:
        print(f"it {it} gen {g:.4f} gp {gp:.4f}")

with torch.no_grad():
    print("sample mean", gen(torch.randn(1000, 4)).mean(0).tolist())
