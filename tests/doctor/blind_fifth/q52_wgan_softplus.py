import torch
from torch import nn, autograd, optim

torch.manual_seed(16)
torch.set_num_threads(1)


class Critic(nn.Module):
    def __init__(self, h=48):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(2, h), nn.Linear(h, h), nn.Linear(h, 1)

    def forward(self, x):
        x = nn.functional.softplus(self.l1(x))
        x = nn.functional.softplus(self.l2(x))
        return self.l3(x).squeeze(1)


def penalty(critic, x):
    x = x.detach().requires_grad_(True)
    (g,) = autograd.grad(critic(x).sum(), x, create_graph=True)
    return (g.norm(dim=1) - 1).pow(2).mean()


def toggle(module, flag):
    for p in module.parameters():
        p.requires_grad = flag


def real(n=96):
    s = torch.randint(0, 2, (n, 1)) * 2.0 - 1
    return s * torch.tensor([[1.0, 1.0]]) + 0.1 * torch.randn(n, 2)


critic = Critic()
gen = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 2))
oc = optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
og = optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.9))

for step in range(150):
    toggle(critic, True)
    for _ in range(3):
        xr, xf = real(), gen(torch.randn(96, 3)).detach()
        u = torch.rand(96, 1)
        gp = penalty(critic, u * xr + (1 - u) * xf)
        wd = critic(xr).mean() - critic(xf).mean()
        oc.zero_grad()
        (10 * gp - wd).backward()
        oc.step()
    toggle(critic, False)
    og.zero_grad()
    loss = -critic(gen(torch.randn(96, 3))).mean()
    loss.backward()
    og.step()
    if step % 50 == 0 or step == 149:
        print(f"step {step} wasserstein {wd.item():.3f} penalty {gp.item():.4f}")
