import torch
from torch import nn


class ScoreNet(nn.Module):
    def __init__(self, dim, width=32):
        super().__init__()
        self.dim = dim
        self.energy = nn.Sequential(nn.Linear(dim, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                    nn.Linear(width, 1))

    def score(self, x):
        e = self.energy(x).sum()
        return -torch.autograd.grad(e, x)[0]


def sliced_score_matching(model, x, n_proj=1):
    x = x.detach().requires_grad_(True)
    s = model.score(x)
    norm_term = 0.5 * s.pow(2).sum(-1)
    trace = 0.0
    for _ in range(n_proj):
        v = torch.randn_like(x)
        sv = (s * v).sum()
        hvp = torch.autograd.grad(sv, x, create_graph=True)[0]
        trace = trace + (hvp * v).sum(-1)
    return (norm_term + trace / n_proj).mean()


def mixture(n, gen):
    which = torch.randint(0, 2, (n, 1), generator=gen)
    return torch.randn(n, 2, generator=gen) * 0.5 + which * 3.0 - 1.5


def train(iters=80):
    torch.manual_seed(17)
    gen = torch.Generator().manual_seed(17)
    net = ScoreNet(2)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for i in range(iters):
        loss = sliced_score_matching(net, mixture(128, gen))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
    return loss.item()


print("objective", round(train(), 4))
