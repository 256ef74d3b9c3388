"""torch.func in anger: ensembles by vmap, per-sample gradients, Jacobians, Laplace approximation."""

import copy
from functools import partial

import torch
from torch import nn
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)

torch.manual_seed(123)
N, MODELS, DIM = 64, 5, 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(DIM, 16), nn.Softplus(), nn.Linear(16, 1))
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x):
        return self.scale * self.body(x).squeeze(-1)


x = torch.randn(N, DIM)
y = x.prod(-1).sin() + 0.05 * torch.randn(N)

# --- an ensemble, trained in one go, each on its own bootstrap sample
nets = [Net() for _ in range(MODELS)]
params, buffers = stack_module_state(nets)
base = copy.deepcopy(nets[0]).requires_grad_(False)


def loss_fn(params, buffers, x, y):
    return nn.functional.mse_loss(functional_call(base, (params, buffers), (x,)), y)


resample = torch.randint(N, (MODELS, N))
velocity = {k: torch.zeros_like(v) for k, v in params.items()}
step = vmap(grad_and_value(loss_fn), in_dims=(0, 0, 0, 0))
for epoch in range(1, 61):
    grads, losses = step(params, buffers, x[resample], y[resample])
    with torch.no_grad():
        for k in params:
            velocity[k] = 0.9 * velocity[k] - 0.1 * grads[k]
            params[k] = params[k] + velocity[k]
    if epoch % 20 == 0:
        print(f"epoch {epoch} losses", " ".join(f"{v:.4f}" for v in losses.tolist()))
predictions = vmap(partial(functional_call, base), in_dims=((0, 0), None))((params, buffers), (x,))
print("spread %.4f" % predictions.std(0).mean().item(), predictions.shape)

# --- one network of them: gradients of each sample, clipped as in private learning
single = {k: v[0].detach() for k, v in params.items()}
frozen = {k: v[0] for k, v in buffers.items()}


def one(params, xi, yi):
    return loss_fn(params, frozen, xi[None], yi[None])


per_sample = vmap(grad(one), in_dims=(None, 0, 0))(single, x, y)
norms = torch.stack([g.flatten(1).norm(dim=1) for g in per_sample.values()]).norm(dim=0)
factor = (0.1 / norms).clamp(max=1.0)
private = {k: torch.einsum("n,n...->...", factor, g) / N for k, g in per_sample.items()}
print(
    "gradient norms %.4f to %.4f" % (norms.min(), norms.max()),
    "private %.4f" % sum(g.square().sum() for g in private.values()).sqrt(),
)
noise = vmap(lambda _: torch.randn(2), randomness="different")(torch.zeros(3))
print("noise", noise.shape, noise.std() > 0)


# --- derivatives by input: both modes agree, Laplacian, Hessian-vector products
def f(xi):
    return functional_call(base, (single, frozen), (xi,))


point = x[0]
forward, reverse = jacfwd(f)(point), jacrev(f)(point)
print("jacobian", forward, torch.allclose(forward, reverse, atol=1e-6))
laplacian = vmap(lambda p: hessian(f)(p).trace())(x[:6])
print("laplacian", laplacian)
value, tangent = jvp(grad(f), (point,), (torch.ones(DIM),))
_, pull = vjp(f, point)
print("hvp", tangent, "vjp", pull(torch.tensor(2.0))[0], "%.4f" % value.norm())

# --- Laplace approximation of the last layer
head = "body.2.weight"


def posterior_energy(w):
    return N * loss_fn({**single, head: w}, frozen, x, y) + 0.5 * w.square().sum()


precision = hessian(posterior_energy)(single[head]).reshape(16, 16)
covariance = torch.linalg.inv(precision)
features = vmap(
    jacrev(lambda w, xi: functional_call(base, ({**single, head: w}, frozen), (xi,))),
    in_dims=(None, 0),
)(single[head], x)
variance = torch.einsum("ni,ij,nj->n", features.flatten(1), covariance, features.flatten(1))
print(
    "predictive std %.4f, log evidence term %.4f"
    % (variance.sqrt().mean(), torch.linalg.slogdet(precision)[1])
)

# --- meta: learn the learning rate through three inner steps
log_lr = torch.tensor(-3.0)


def after_inner_steps(log_lr):
    p = {k: v for k, v in single.items()}
    for _ in range(3):
        g = grad(loss_fn)(p, frozen, x[:32], y[:32])
        p = {k: p[k] - log_lr.exp() * g[k] for k in p}
    return loss_fn(p, frozen, x[32:], y[32:])


for i in range(12):
    slope, value = grad_and_value(after_inner_steps)(log_lr)
    log_lr = log_lr - 20 * slope
    if i % 4 == 3:
        print(f"meta {i + 1}: loss {value:.5f} learning rate {log_lr.exp():.4f}")
