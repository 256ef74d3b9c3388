import torch
import torch.nn as nn
import torch.nn.functional as F


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.depth = nn.Linear(16, 1)
        self.normal = nn.Linear(16, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.depth(h).squeeze(-1), F.normalize(self.normal(h), dim=-1)


def balanced(losses, weights, tensor, rate=0.5):
    """Moves the weights towards equal gradient norms on a shared tensor."""
    norms = []
    for weight, loss in zip(weights, losses):
        (gradient,) = torch.autograd.grad(weight * loss, tensor, retain_graph=True)
        norms.append(gradient.norm())
    mean = sum(norms) / len(norms)
    return [w * float(mean / (n + 1e-8)) ** rate for w, n in zip(weights, norms)]


torch.manual_seed(0)
net = Shared()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
weights = [1.0, 1.0]
for step in range(60):
    x = torch.randn(64, 8)
    depth, normal = net(x)
    losses = [
        50 * (depth - x[:, 0].relu()).square().mean(),
        1 - (normal * F.normalize(x[:, 1:4], dim=-1)).sum(-1).mean(),
    ]
    weights = balanced(losses, weights, net.trunk[2].weight)
    scale = len(weights) / sum(weights)
    weights = [w * scale for w in weights]
    total = sum(w * loss for w, loss in zip(weights, losses))
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    if step % 15 == 14:
        print(step, [round(loss.item(), 4) for loss in losses], [round(w, 3) for w in weights])
