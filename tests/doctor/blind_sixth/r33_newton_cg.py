"""Truncated Newton: conjugate gradients on Hessian vector products."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
params = list(model.parameters())
x = torch.randn(100, 4)
y = torch.sin(x[:, :1]) + 0.5 * x[:, 1:2] ** 2


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


def make_hvp(grad_flat, damping):
    def hvp(v):
        hv = torch.autograd.grad(grad_flat, params, grad_outputs=v, retain_graph=True)
        return flat(hv) + damping * v
    return hvp


def conjugate_gradient(hvp, b, iters=12, tol=1e-8):
    sol = torch.zeros_like(b)
    r = b.clone()
    p = r.clone()
    rs = r @ r
    for _ in range(iters):
        hp = hvp(p)
        curvature = p @ hp
        if curvature <= 0:
            break
        alpha = rs / curvature
        sol += alpha * p
        r -= alpha * hp
        new = r @ r
        if new < tol:
            break
        p = r + (new / rs) * p
        rs = new
    return sol


@torch.no_grad()
def move(direction, scale):
    offset = 0
    for p in params:
        n = p.numel()
        p -= scale * direction[offset:offset + n].view_as(p)
        offset += n


for it in range(15):
    loss = F.mse_loss(model(x), y)
    grads = torch.autograd.grad(loss, params, create_graph=True)
    g = flat(grads)
    step = conjugate_gradient(make_hvp(g, damping=0.1), g.detach())
    scale = 1.0
    move(step, scale)
    while F.mse_loss(model(x), y) > loss and scale > 1e-3:
        move(step, -0.5 * scale)
        scale *= 0.5
    if it % 5 == 0:
        print(it, round(loss.item(), 5))
print("last", F.mse_loss(model(x), y).item())
