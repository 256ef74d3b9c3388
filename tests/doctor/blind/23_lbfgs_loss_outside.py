import torch
import torch.nn as nn

torch.manual_seed(27)
torch.set_default_dtype(torch.float64)

# fit a damped oscillation with LBFGS
t = torch.linspace(0, 6, 120)
obs = 1.7 * torch.exp(-0.3 * t) * torch.cos(2.2 * t + 0.4) + 0.03 * torch.randn(120)


class Oscillator(nn.Module):
    def __init__(self):
        super().__init__()
        self.amp = nn.Parameter(torch.tensor(1.0))
        self.damp = nn.Parameter(torch.tensor(0.1))
        self.freq = nn.Parameter(torch.tensor(2.0))
        self.phase = nn.Parameter(torch.tensor(0.0))

    def forward(self, t):
        return self.amp * torch.exp(-self.damp * t) * torch.cos(self.freq * t + self.phase)


def objective(model):
    mse = (model(t) - obs).pow(2).mean()
    # keep the damping positive
    return mse + 10.0 * torch.relu(-model.damp).pow(2)


def fit(model, n_outer=8):
    opt = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, history_size=10,
                            line_search_fn="strong_wolfe")
    best = float("inf")
    for k in range(n_outer):
        loss = objective(model)

        def closure():
            opt.zero_grad()
            loss.backward()
            return loss

        opt.step(closure)
        with torch.no_grad():
            now = objective(model).item()
        best = min(best, now)
        print(f"outer {k} loss {now:.6f} best {best:.6f}")
    return best


model = Oscillator()
fit(model)
for name, p in model.named_parameters():
    print(f"{name:6s} {p.item():.3f}")
