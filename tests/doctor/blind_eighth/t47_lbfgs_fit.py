"""Fit a damped oscillation with LBFGS; the closure runs several times per step."""
import torch

torch.manual_seed(46)

t = torch.linspace(0, 6, 120)
observed = 1.7 * torch.exp(-0.35 * t) * torch.cos(2.4 * t + 0.3) + 0.02 * torch.randn(120)

raw = {
    "amp": torch.tensor(1.0, requires_grad=True),
    "log_decay": torch.tensor(-1.5, requires_grad=True),
    "freq": torch.tensor(2.1, requires_grad=True),
    "phase": torch.tensor(0.0, requires_grad=True),
}


def simulate(p):
    return p["amp"] * torch.exp(-p["log_decay"].exp() * t) * torch.cos(p["freq"] * t + p["phase"])


optimizer = torch.optim.LBFGS(raw.values(), lr=0.5, max_iter=15, history_size=8,
                              line_search_fn="strong_wolfe")
evaluations = 0
best = (float("inf"), None)


def closure():
    global evaluations
    evaluations += 1
    optimizer.zero_grad()
    loss = (simulate(raw) - observed).pow(2).mean()
    loss.backward()
    return loss


for outer in range(8):
    loss = optimizer.step(closure)
    with torch.no_grad():
        now = (simulate(raw) - observed).pow(2).mean().item()
        if now < best[0]:
            best = (now, {k: v.detach().clone() for k, v in raw.items()})
        raw["phase"].remainder_(2 * torch.pi)
    print(f"outer {outer}: loss {loss.item():.6f} after {evaluations} evaluations")

print({k: round(v.item(), 3) for k, v in best[1].items()})
