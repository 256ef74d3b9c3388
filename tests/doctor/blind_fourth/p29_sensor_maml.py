"""Meta-learning of sensor calibrations; each task is one sensor's response curve."""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(13)
torch.set_num_threads(1)
INNER_LR = 0.05


class CalibrationNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh())
        self.reading = nn.Linear(24, 1)
        self.drift = nn.Linear(24, 1)

    def forward(self, x, want_drift=False):
        z = self.body(x)
        return (self.reading(z), self.drift(z)) if want_drift else self.reading(z)


def make_task():
    gain, shift = 0.5 + torch.rand(1), torch.randn(1)

    def draw(n):
        x = torch.rand(n, 1) * 4 - 2
        return x, torch.sin(gain * x + shift), torch.cos(gain * x + shift)

    return draw


def adapt(model, params, x, y):
    loss = nn.functional.mse_loss(functional_call(model, params, (x,)), y)
    grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
    return {name: p - INNER_LR * g for (name, p), g in zip(params.items(), grads)}


model = CalibrationNet()
meta_opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for it in range(60):
    meta_loss = 0.0
    for _ in range(4):
        draw = make_task()
        x, y, _ = draw(10)
        fast = adapt(model, dict(model.named_parameters()), x, y)
        xq, yq, dq = draw(10)
        read, drift = functional_call(model, fast, (xq,), {"want_drift": True})
        meta_loss = meta_loss + (read - yq).pow(2).mean() + 0.1 * (drift - dq).pow(2).mean()
    meta_opt.zero_grad()
    meta_loss.backward()
    meta_opt.step()
    if it % 15 == 0:
        print(it, round(meta_loss.item() / 4, 4))
