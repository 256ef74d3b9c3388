import torch
import torch.nn as nn


class Critic(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def gradient_penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    scores = critic(between)
    (slope,) = torch.autograd.grad(
        outputs=scores,
        inputs=between,
        grad_outputs=torch.ones_like(scores),
        create_graph=True,
    )
    return (slope.norm(dim=1) - 1).pow(2).mean()


def r1_penalty(critic, real):
    real = real.detach().requires_grad_()
    (slope,) = torch.autograd.grad(critic(real).sum(), real, create_graph=True)
    return slope.pow(2).sum(1).mean()


def main():
    torch.manual_seed(0)
    dim, latent = 3, 4
    critic = Critic(dim)
    generator = nn.Sequential(nn.Linear(latent, 24), nn.Tanh(), nn.Linear(24, dim))
    c_opt = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
    g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    for it in range(10):
        for inner in range(2):
            real = torch.randn(24, dim) * torch.tensor([1.0, 0.3, 0.1])
            with torch.no_grad():
                fake = generator(torch.randn(24, latent))
            loss = critic(fake).mean() - critic(real).mean()
            loss = loss + 10.0 * gradient_penalty(critic, real, fake)
            if inner == 0:
                loss = loss + 0.1 * r1_penalty(critic, real)
            c_opt.zero_grad()
            loss.backward()
            c_opt.step()
        g_loss = -critic(generator(torch.randn(24, latent))).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        if it % 3 == 0:
            print(it, round(loss.item(), 4), round(g_loss.item(), 4))


if __name__ == "__main__":
    main()
