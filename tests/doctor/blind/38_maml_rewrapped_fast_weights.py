import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(69)


class FunctionalMLP(nn.Module):
    def __init__(self, hid=24):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(hid, 1) * 0.5)
        self.b1 = nn.Parameter(torch.zeros(hid))
        self.w2 = nn.Parameter(torch.randn(1, hid) * 0.3)
        self.b2 = nn.Parameter(torch.zeros(1))

    def weights(self):
        return [self.w1, self.b1, self.w2, self.b2]

    @staticmethod
    def apply_with(w, x):
        h = torch.tanh(F.linear(x, w[0], w[1]))
        return F.linear(h, w[2], w[3])


def task():
    amp, ph = torch.rand(1) * 2 + 0.5, torch.rand(1) * 3
    x = torch.rand(20, 1) * 6 - 3
    y = amp * torch.sin(x + ph)
    return x[:10], y[:10], x[10:], y[10:]


def adapt(model, x, y, steps=2, lr=0.05):
    fast = model.weights()
    for _ in range(steps):
        loss = F.mse_loss(model.apply_with(fast, x), y)
        grads = torch.autograd.grad(loss, fast, create_graph=True)
        fast = [nn.Parameter(w - lr * g) for w, g in zip(fast, grads)]
    return fast


model = FunctionalMLP()
before = [w.detach().clone() for w in model.weights()]
meta_opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for it in range(80):
    meta_opt.zero_grad()
    total = 0.0
    for _ in range(4):
        xs, ys, xq, yq = task()
        fast = adapt(model, xs, ys)
        q_loss = F.mse_loss(model.apply_with(fast, xq), yq) / 4
        q_loss.backward()
        total += q_loss.item()
    meta_opt.step()
    if it % 20 == 0:
        moved = sum((a - b).abs().sum() for a, b in zip(before, model.weights())).item()
        print(f"meta {it} query loss {total:.4f} moved {moved:.3f}")
