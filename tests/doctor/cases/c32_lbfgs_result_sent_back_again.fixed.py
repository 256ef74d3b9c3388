"""Fit a Gaussian process (squared-exponential kernel) by its marginal likelihood."""
import math
import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)


class ExactGP(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw_length = nn.Parameter(torch.tensor(0.0))
        self.raw_amp = nn.Parameter(torch.tensor(0.5))
        self.raw_noise = nn.Parameter(torch.tensor(-2.0))

    def covariance(self, x):
        length, amp, noise = self.raw_length.exp(), self.raw_amp.exp(), self.raw_noise.exp()
        distance = (x[:, None] - x[None]).pow(2)
        k = amp * torch.exp(-0.5 * distance / length ** 2)
        return k + noise * torch.eye(len(x))

    def nll(self, x, y):
        chol = torch.linalg.cholesky(self.covariance(x))
        alpha = torch.cholesky_solve(y[:, None], chol)[:, 0]
        return 0.5 * y @ alpha + chol.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)


def fit(gp, x, y, rounds=3, tol=1e-4):
    opt = torch.optim.LBFGS(gp.parameters(), lr=0.5, max_iter=6, line_search_fn="strong_wolfe")

    def closure():
        opt.zero_grad()
        loss = gp.nll(x, y)
        loss.backward()
        return loss

    for r in range(rounds):
        opt.step(closure)
        loss = closure()     # gradient at the new point, for the stopping rule
        slope = max(p.grad.abs().item() for p in gp.parameters())
        print(f"round {r}: nll {loss.item():.4f} slope {slope:.5f}")
        if slope < tol:
            break


if __name__ == "__main__":
    gen = torch.Generator().manual_seed(0)
    x = torch.linspace(0, 5, 25)
    y = torch.sin(2 * x) + 0.1 * torch.randn(25, generator=gen)
    fit(ExactGP(), x, y)
