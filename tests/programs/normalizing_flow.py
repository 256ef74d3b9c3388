"""Density estimation with a RealNVP built from torch.distributions, and friends of it."""

import torch
import torch.distributions as D
import torch.nn as nn
from torch.distributions import constraints
from torch.distributions.transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    SigmoidTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
)


class AffineCoupling(Transform):
    domain = constraints.real_vector
    codomain = constraints.real_vector
    bijective = True

    def __init__(self, net, flip, cache_size=1):
        super().__init__(cache_size=cache_size)
        self.net, self.flip = net, flip

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)

    def _split(self, v):
        a, b = v.chunk(2, dim=-1)
        return (b, a) if self.flip else (a, b)

    def _join(self, a, b):
        return torch.cat((b, a) if self.flip else (a, b), dim=-1)

    def _shift_and_log_scale(self, a):
        shift, log_scale = self.net(a).chunk(2, dim=-1)
        return shift, 1.5 * torch.tanh(log_scale)

    def _call(self, x):
        a, b = self._split(x)
        shift, log_scale = self._shift_and_log_scale(a)
        return self._join(a, b * log_scale.exp() + shift)

    def _inverse(self, y):
        a, b = self._split(y)
        shift, log_scale = self._shift_and_log_scale(a)
        return self._join(a, (b - shift) * (-log_scale).exp())

    def log_abs_det_jacobian(self, x, y):
        a, _ = self._split(x)
        return self._shift_and_log_scale(a)[1].sum(-1)


class RealNVP(nn.Module):
    def __init__(self, dim=2, hidden=24, layers=4):
        super().__init__()
        self.nets = nn.ModuleList(
            nn.Sequential(nn.Linear(dim // 2, hidden), nn.Tanh(), nn.Linear(hidden, dim))
            for _ in range(layers)
        )
        for net in self.nets:
            nn.init.zeros_(net[-1].weight)
            nn.init.zeros_(net[-1].bias)
        self.register_buffer("loc", torch.zeros(dim))
        self.register_buffer("scale", torch.ones(dim))

    @property
    def distribution(self):
        base = D.Independent(D.Normal(self.loc, self.scale), 1)
        couplings = [AffineCoupling(net, bool(i % 2)) for i, net in enumerate(self.nets)]
        return D.TransformedDistribution(base, couplings)

    def forward(self, x):
        return -self.distribution.log_prob(x).mean()


def banana(n):
    x = torch.randn(n, 2)
    return torch.stack([x[:, 0] * 1.2, 0.5 * x[:, 0] ** 2 - 1 + 0.4 * x[:, 1]], dim=1)


torch.manual_seed(77)
flow = RealNVP()
optimizer = torch.optim.Adamax(flow.parameters(), lr=2e-2)
print("before: nll", round(flow(banana(1000)).item(), 4))
for step in range(1, 161):
    loss = flow(banana(128))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"{step:4d} nll {loss.item():.4f}")

with torch.no_grad():
    dist = flow.distribution
    samples = dist.sample((4000,))
    print("event", dist.event_shape, "batch", dist.batch_shape, "has_rsample", dist.has_rsample)
    print("mean", samples.mean(0), "skew-ish", (samples[:, 1] ** 3).mean())
    y = banana(5)
    z = ComposeTransform(dist.transforms).inv(y)
    back = ComposeTransform(dist.transforms)(z)
    print("round trip", torch.allclose(back, y, atol=1e-5))

# one dimensional: fit a logit-normal, stretched to (2, 6), by its parts
loc = nn.Parameter(torch.tensor(0.0))
log_scale = nn.Parameter(torch.tensor(0.0))
data = 2 + 4 * torch.sigmoid(0.7 + 0.5 * torch.randn(300))
optimizer = torch.optim.Adam([loc, log_scale], lr=0.1)
for step in range(60):
    stretched = D.TransformedDistribution(
        D.Normal(loc, log_scale.exp()), [SigmoidTransform(), AffineTransform(2.0, 4.0)]
    )
    nll = -stretched.log_prob(data).mean()
    optimizer.zero_grad()
    nll.backward()
    optimizer.step()
print(f"logit-normal: nll {nll.item():.4f} loc {loc.item():.4f} scale {log_scale.exp().item():.4f}")

# the reparametrised posterior of a simplex: gradients through a sample
mixture = D.MixtureSameFamily(
    D.Categorical(logits=torch.tensor([0.3, -0.3])),
    D.Independent(D.Laplace(torch.tensor([[-1.0, 0.0], [1.0, 0.5]]), torch.full((2, 2), 0.3)), 1),
)
mean = torch.zeros(2, requires_grad=True)
tril = torch.eye(2).mul_(0.5).requires_grad_()
optimizer = torch.optim.SGD([mean, tril], lr=0.05)
for step in range(40):
    q = D.MultivariateNormal(mean, scale_tril=torch.tril(tril))
    x = q.rsample((64,))
    elbo = (mixture.log_prob(x) + q.entropy()).mean()
    optimizer.zero_grad()
    (-elbo).backward()
    optimizer.step()
print(f"elbo {elbo.item():.4f} mean", mean.data)

simplex = StickBreakingTransform()(torch.tensor([0.2, -0.4, 1.0]))
print("simplex", simplex, "sum", simplex.sum())
print(
    ExpTransform().inv, TanhTransform().sign, D.kl_divergence(D.Gamma(2.0, 1.5), D.Gamma(3.0, 1.0))
)
print(
    D.LogNormal(torch.zeros(2), torch.ones(2)).mean,
    D.constraint_registry.biject_to(constraints.positive)(torch.tensor(-1.0)),
)
