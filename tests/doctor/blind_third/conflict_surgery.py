import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(47)


class HouseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(8, 32), nn.Tanh())
        self.price = nn.Linear(32, 1)
        self.days = nn.Linear(32, 1)

    def forward(self, x):
        h = self.shared(x)
        return self.price(h).squeeze(1), self.days(h).squeeze(1)


def flat_grad(loss, params, keep):
    grads = torch.autograd.grad(loss, params, retain_graph=keep, allow_unused=True)
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for p, g in zip(params, grads)])


def project(g, other):
    """Remove from g what points against other."""
    dot = torch.dot(g, other)
    if dot < 0:
        g = g - dot / other.dot(other).clamp(min=1e-12) * other
    return g


def assign(params, flat):
    offset = 0
    for p in params:
        p.grad = flat[offset:offset + p.numel()].view_as(p).clone()
        offset += p.numel()


x = torch.randn(256, 8)
price = x[:, 0] + 0.5 * x[:, 1]
days = -x[:, 0] + x[:, 2].abs()

net = HouseNet()
params = list(net.parameters())
opt = torch.optim.SGD(params, lr=0.1)
conflicts = 0
for step in range(200):
    p, d = net(x)
    loss_p, loss_d = F.mse_loss(p, price), F.mse_loss(d, days)
    gp = flat_grad(loss_p, params, keep=True)
    gd = flat_grad(loss_d, params, keep=False)
    conflicts += int(torch.dot(gp, gd) < 0)
    assign(params, project(gp, gd) + project(gd, gp))
    opt.step()
    if step % 50 == 0:
        print(f"step {step:3d} price {loss_p.item():.4f} days {loss_d.item():.4f}")
print("steps with conflicting gradients:", conflicts)
