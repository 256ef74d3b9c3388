import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


class NewtonCG:
    """Truncated Newton: one graph of the gradient serves all products with the Hessian."""

    def __init__(self, params, damping=0.1, iterations=6):
        self.params, self.damping, self.iterations = list(params), damping, iterations

    def curvature(self, gradient):
        def product(v):
            hv = torch.autograd.grad(gradient, self.params, grad_outputs=v, retain_graph=True)
            return flat(hv) + self.damping * v
        return product

    def solve(self, product, b):
        x, r = torch.zeros_like(b), b.clone()
        p, rr = r.clone(), r @ r
        for _ in range(self.iterations):
            ap = product(p)
            alpha = rr / (p @ ap)
            x += alpha * p
            r -= alpha * ap
            rr, old = r @ r, rr
            if rr < 1e-8:
                break
            p = r + (rr / old) * p
        return x

    def step(self, closure):
        loss = closure()
        gradient = flat(torch.autograd.grad(loss, self.params, create_graph=True))
        direction = self.solve(self.curvature(gradient), -gradient.detach())
        with torch.no_grad():
            start = 0
            for p in self.params:
                p += 0.5 * direction[start:start + p.numel()].view_as(p)
                start += p.numel()
        return loss.item()


x = torch.randn(60, 3)
y = (x[:, :1] * x[:, 1:2]).tanh()
net = nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 1))
solver = NewtonCG(net.parameters())
for i in range(5):
    print(i, f"{solver.step(lambda: F.mse_loss(net(x), y)):.5f}")
