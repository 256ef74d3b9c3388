import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)


class PrivateStep:
    """Per-sample gradients by vmap, clipped, noised and written into .grad."""

    def __init__(self, model, clip=1.0, sigma=0.3):
        self.model, self.clip, self.sigma = model, clip, sigma
        self.per_sample = vmap(grad(self.loss_of_one), in_dims=(None, 0, 0))
        self.noise = torch.Generator().manual_seed(9)

    def loss_of_one(self, params, x, y):
        logits = functional_call(self.model, params, (x.unsqueeze(0),))
        return F.cross_entropy(logits, y.unsqueeze(0))

    def __call__(self, x, y):
        params = {name: p.detach() for name, p in self.model.named_parameters()}
        grads = self.per_sample(params, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        factor = (self.clip / norms).clamp(max=1.0)
        for name, p in self.model.named_parameters():
            g = torch.einsum("b,b...->...", factor, grads[name])
            noise = torch.randn(p.shape, generator=self.noise) * self.sigma * self.clip
            p.grad = (g + noise) / len(x)
        return norms.median().item()


def data(n):
    x = torch.randn(n, 8)
    return x, (x[:, 0] * x[:, 1] > 0).long()


model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
private = PrivateStep(model)
opt = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(6):
    x, y = data(24)
    median = private(x, y)
    opt.step()
    with torch.no_grad():
        print(step, f"{median:.3f}", f"{F.cross_entropy(model(x), y).item():.4f}")
