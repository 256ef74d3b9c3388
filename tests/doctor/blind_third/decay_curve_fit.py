"""Two-compartment drug concentration model fitted with LBFGS."""
from dataclasses import dataclass, field

import torch


@dataclass
class Model:
    log_rates: torch.Tensor = field(default_factory=lambda: torch.tensor([0.5, -1.5], requires_grad=True))
    log_amps: torch.Tensor = field(default_factory=lambda: torch.zeros(2, requires_grad=True))

    def __call__(self, t):
        rates, amps = self.log_rates.exp(), self.log_amps.exp()
        return (amps * torch.exp(-rates * t.unsqueeze(-1))).sum(-1)

    def tensors(self):
        return [self.log_rates, self.log_amps]


def observations():
    t = torch.linspace(0, 8, 60)
    clean = 2.0 * torch.exp(-1.6 * t) + 1.2 * torch.exp(-0.25 * t)
    return t, clean * (1 + 0.005 * torch.randn(60))


def fit(model, t, y):
    opt = torch.optim.LBFGS(model.tensors(), max_iter=20, line_search_fn="strong_wolfe")
    calls = 0

    def closure():
        nonlocal calls
        calls += 1
        opt.zero_grad()
        loss = (model(t) - y).square().mean()
        loss.backward()
        return loss

    for outer in range(5):
        loss = opt.step(closure)
        print(f"outer {outer} loss {loss.item():.3e} after {calls} evaluations")
    return calls


torch.manual_seed(6)
model = Model()
fit(model, *observations())
with torch.no_grad():
    print("rates", model.log_rates.exp().tolist(), "amps", model.log_amps.exp().tolist())
