import torch
import torch.nn as nn


class Critic(nn.Module):
    def __init__(self, d=2, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x)


class Generator(nn.Module):
    def __init__(self, z=3, d=2, width=48):
        super().__init__()
        self.z = z
        self.net = nn.Sequential(nn.Linear(z, width), nn.ReLU(), nn.Linear(width, d))

    def sample(self, n):
        return self.net(torch.randn(n, self.z))


def clip_weights(net, limit):
    for p in net.parameters():
        p.data.clamp_(-limit, limit)


def corner_data(n):
    return torch.randint(0, 2, (n, 2)).float() * 2 - 1 + 0.1 * torch.randn(n, 2)


def critic_round(critic, gen, opt, n, limit):
    with torch.no_grad():
        fake = gen.sample(n)
    loss = critic(fake).mean() - critic(corner_data(n)).mean()
    opt.zero_grad()
    clip_weights(critic, limit)
    loss.backward()
    opt.step()
    return -loss.item()


def main(iters=60, n=64):
    torch.manual_seed(72)
    critic, gen = Critic(), Generator()
    c_opt = torch.optim.RMSprop(critic.parameters(), lr=3e-3)
    g_opt = torch.optim.RMSprop(gen.parameters(), lr=1e-3)
    for it in range(iters):
        for _ in range(3):
            gap = critic_round(critic, gen, c_opt, n, 0.05)
        for p in critic.parameters():
            p.requires_grad_(False)
        g_loss = -critic(gen.sample(n)).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        for p in critic.parameters():
            p.requires_grad_(True)
    limit = max(float(p.detach().abs().max()) for p in critic.parameters())
    print(f"wasserstein gap {gap:.5f} largest critic weight {limit:.4f}")


main()
