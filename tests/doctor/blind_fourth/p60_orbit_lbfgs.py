"""Fit the elements of an orbit to observed positions with LBFGS."""
import torch

torch.manual_seed(56)
torch.set_num_threads(1)

times = torch.linspace(0, 9, 60)
harmonics = torch.stack([torch.cos(k * times) for k in range(3)] + [torch.sin(k * times) for k in range(1, 3)], 1)
true = torch.tensor([0.2, 1.5, -0.3, 0.8, 0.1])
observed = harmonics @ true + 0.02 * torch.randn(60)
phase_data = torch.sin(1.3 * times + 0.4) + 0.02 * torch.randn(60)

coef = torch.zeros(5, requires_grad=True)
freq = torch.tensor(1.1, requires_grad=True)
phase = torch.tensor(0.0, requires_grad=True)
optimizer = torch.optim.LBFGS([coef, freq, phase], lr=1.0, max_iter=15, line_search_fn="strong_wolfe")
history = []
calls = 0


def closure():
    global calls
    calls += 1
    optimizer.zero_grad()
    fit = harmonics @ coef
    wave = torch.sin(freq * times + phase)
    loss = (fit - observed).square().mean() + (wave - phase_data).square().mean()
    loss.backward()
    return loss


for outer in range(6):
    loss = optimizer.step(closure)
    history.append(loss.detach())
    print(f"outer {outer} loss {loss.item():.6f} closure calls {calls}")

print("largest error of the coefficients", (coef.detach() - true).abs().max().item())
print("frequency", freq.item(), "phase", phase.item())
print("losses", torch.stack(history).tolist())
