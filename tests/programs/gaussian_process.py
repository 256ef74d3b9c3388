import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

torch.set_default_dtype(torch.float64)


class Posterior(NamedTuple):
    mean: Tensor
    covariance: Tensor


class Kernel(torch.nn.Module):
    def __add__(self, other: "Kernel") -> "Kernel":
        return Sum(self, other)

    def __mul__(self, other: "Kernel") -> "Kernel":
        return Product(self, other)


class RBF(Kernel):
    def __init__(self, dims: int) -> None:
        super().__init__()
        self.raw_lengthscale = torch.nn.Parameter(torch.zeros(dims))
        self.raw_variance = torch.nn.Parameter(torch.zeros(()))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        scale = softplus(self.raw_lengthscale)
        square = (a / scale).unsqueeze(1).sub((b / scale).unsqueeze(0)).square().sum(-1)
        return softplus(self.raw_variance) * torch.exp(-0.5 * square)


class Periodic(Kernel):
    def __init__(self) -> None:
        super().__init__()
        self.log_period = torch.nn.Parameter(torch.tensor(math.log(2.0)))
        self.log_scale = torch.nn.Parameter(torch.zeros(()))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        distance = (a[:, None, 0] - b[None, :, 0]) * math.pi / self.log_period.exp()
        return torch.exp(-2 * distance.sin().square() / self.log_scale.exp().square())


class Sum(Kernel):
    def __init__(self, *parts: Kernel) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList(parts)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.stack([part(a, b) for part in self.parts]).sum(0)


class Product(Sum):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.stack([part(a, b) for part in self.parts]).prod(0)


class ExactGP(torch.nn.Module):
    def __init__(self, x: Tensor, y: Tensor, kernel: Kernel) -> None:
        super().__init__()
        self.register_buffer("x", x)
        self.register_buffer("y", y)
        self.kernel = kernel
        self.raw_noise = torch.nn.Parameter(torch.tensor(-2.0))
        self.constant = torch.nn.Parameter(torch.tensor(0.0))

    def factor(self) -> tuple[Tensor, Tensor]:
        k = self.kernel(self.x, self.x)
        k = k + torch.diag_embed(torch.full_like(self.y, 1e-6) + softplus(self.raw_noise))
        low, info = torch.linalg.cholesky_ex(k)
        assert info.item() == 0
        return low, torch.cholesky_solve((self.y - self.constant)[:, None], low)

    def neg_log_marginal(self) -> Tensor:
        low, alpha = self.factor()
        fit = 0.5 * torch.dot(self.y - self.constant, alpha.squeeze(-1))
        return fit + low.diagonal().log().sum() + 0.5 * len(self.y) * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, at: Tensor) -> Posterior:
        low, alpha = self.factor()
        cross = self.kernel(self.x, at)
        half = torch.linalg.solve_triangular(low, cross, upper=False)
        return Posterior(
            self.constant + (cross.mT @ alpha).squeeze(-1), self.kernel(at, at) - half.mT @ half
        )


def fit(model: ExactGP, steps: int, **options) -> None:
    optimizer = torch.optim.LBFGS(model.parameters(), **options)
    calls = 0

    def closure() -> Tensor:
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = model.neg_log_marginal() / len(model.y)
        loss.backward()
        return loss

    for step in range(steps):
        loss = optimizer.step(closure)
        with torch.no_grad():
            after = model.neg_log_marginal() / len(model.y)
        print(f"  step {step}: {loss.item():.5f} -> {after.item():.5f}  ({calls} evaluations)")


if __name__ == "__main__":
    torch.manual_seed(31)
    x = torch.sort(torch.rand(45, 1) * 8, dim=0).values
    y = (
        torch.sin(2 * math.pi * x[:, 0] / 2.3) * (1 + 0.1 * x[:, 0])
        + 0.3 * x[:, 0]
        + 0.15 * torch.randn(45)
    )
    held_out = torch.linspace(0.3, 7.7, 7)[:, None]
    truth = (
        torch.sin(2 * math.pi * held_out[:, 0] / 2.3) * (1 + 0.1 * held_out[:, 0])
        + 0.3 * held_out[:, 0]
    )

    for name, kernel in {
        "rbf": RBF(1),
        "periodic * rbf + rbf": Periodic() * RBF(1) + RBF(1),
    }.items():
        print(name)
        model = ExactGP(x, y, kernel)
        fit(model, 4, lr=0.5, max_iter=6, line_search_fn="strong_wolfe")
        mean, covariance = model.predict(held_out)
        std = covariance.diagonal().clamp_min(0).sqrt()
        print(
            "  rmse %.4f" % (mean - truth).square().mean().sqrt(),
            " std",
            [round(s, 4) for s in std.tolist()],
        )
        sign, logdet = torch.linalg.slogdet(covariance + 1e-6 * torch.eye(7))
        print("  logdet %.3f" % logdet, sign.item())
        draws = torch.distributions.MultivariateNormal(
            mean, covariance + 1e-6 * torch.eye(7)
        ).sample((3,))
        print("  draws", draws.shape, "%.4f" % draws.mean())

    # second derivatives of the evidence: how well are the hyperparameters known?
    names, values = zip(*model.named_parameters())

    def evidence(*parameters):
        return torch.func.functional_call(
            _Loss(model), {f"model.{n}": p for n, p in zip(names, parameters)}, ()
        )

    class _Loss(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self):
            return self.model.neg_log_marginal()

    hessian = torch.autograd.functional.hessian(evidence, tuple(v.detach() for v in values))
    diagonal = {n: hessian[i][i].reshape(-1)[0] for i, n in enumerate(names)}
    for n, h in diagonal.items():
        print(f"  {n:32s} {h:.4f}")
