import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
gen = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
disc = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
opts = {
    "d": torch.optim.Adam(disc.parameters(), lr=2e-3, betas=(0.0, 0.9)),
    "g": torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.9)),
}


def ring(n):
    angle = torch.rand(n) * 2 * torch.pi
    return torch.stack([angle.cos(), angle.sin()], 1) * 2


def play(n=32):
    """One forward pass for both players; each gradient goes only to the player it belongs to."""
    fake = gen(torch.randn(n, 4))
    score_fake, score_real = disc(fake), disc(ring(n))
    d_loss = F.softplus(-score_real).mean() + F.softplus(score_fake).mean()
    g_loss = F.softplus(-score_fake).mean()
    for opt in opts.values():
        opt.zero_grad()
    d_loss.backward(inputs=list(disc.parameters()), retain_graph=True)
    g_loss.backward(inputs=list(gen.parameters()))
    for opt in opts.values():
        opt.step()
    return d_loss.item(), g_loss.item()


def extragradient_round():
    saved = [p.detach().clone() for net in (gen, disc) for p in net.parameters()]
    play()
    with torch.no_grad():
        for p, old in zip([*gen.parameters(), *disc.parameters()], saved):
            p.lerp_(old, 0.5)
    return play()


for i in range(5):
    print(i, ["%.4f" % v for v in extragradient_round()])
