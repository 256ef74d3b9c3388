import torch
import torch.nn as nn


class GaussianProcess(nn.Module):
    """Exact regression with a squared-exponential kernel and trainable scales."""

    def __init__(self):
        super().__init__()
        self.log_length = nn.Parameter(torch.zeros(()))
        self.log_signal = nn.Parameter(torch.zeros(()))
        self.log_noise = nn.Parameter(torch.tensor(-1.0))

    def kernel(self, a, b):
        distance = (a[:, None] - b[None, :]).pow(2)
        return (2 * self.log_signal).exp() * torch.exp(
            -0.5 * distance / (2 * self.log_length).exp()
        )

    def factor(self, x):
        noise = (2 * self.log_noise).exp() + 1e-6
        return torch.linalg.cholesky(self.kernel(x, x) + noise * torch.eye(len(x)))

    def nll(self, x, y):
        chol = self.factor(x)
        alpha = torch.cholesky_solve(y[:, None], chol)[:, 0]
        return 0.5 * y @ alpha + chol.diagonal().log().sum() + 0.9189 * len(x)

    @torch.no_grad()
    def predict(self, x, y, where):
        chol = self.factor(x)
        return self.kernel(where, x) @ torch.cholesky_solve(y[:, None], chol)[:, 0]


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    x = torch.sort(torch.rand(30) * 6).values
    y = torch.sin(x) + 0.1 * torch.randn(30)
    model = GaussianProcess()
    optimizer = torch.optim.LBFGS(
        model.parameters(), lr=0.5, max_iter=8, history_size=6, line_search_fn="strong_wolfe"
    )
    calls = 0

    def closure():
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = model.nll(x, y)
        loss.backward()
        return loss

    for outer in range(4):
        loss = optimizer.step(closure)
        print(outer, round(loss.item(), 4))
    grid = torch.linspace(0, 6, 5)
    error = (model.predict(x, y, grid) - grid.sin()).abs().max()
    print("closure calls > steps:", calls > 4, "largest error", round(error.item(), 2))


if __name__ == "__main__":
    main()
