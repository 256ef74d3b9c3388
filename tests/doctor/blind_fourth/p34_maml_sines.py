import torch
import torch.nn as nn
from torch.func import functional_call

torch.manual_seed(58)
torch.set_num_threads(1)


class Regressor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x)


def sine_task():
    amplitude, phase = 0.5 + torch.rand(1) * 2, torch.rand(1) * 3.14

    def sample(n):
        x = torch.rand(n, 1) * 6 - 3
        return x, amplitude * torch.sin(x + phase)

    return sample


model = Regressor()
inner_lr = nn.Parameter(torch.tensor(0.02))
meta = torch.optim.Adam([*model.parameters(), inner_lr], lr=3e-3)
mse = nn.MSELoss()

for it in range(80):
    meta_loss = torch.zeros(())
    for _ in range(4):
        sample = sine_task()
        weights = dict(model.named_parameters())
        for _ in range(2):
            x, y = sample(12)
            inner = mse(functional_call(model, weights, (x,)), y)
            grads = torch.autograd.grad(inner, tuple(weights.values()), create_graph=True)
            weights = {k: w - inner_lr * g for (k, w), g in zip(weights.items(), grads)}
        x, y = sample(12)
        meta_loss = meta_loss + mse(functional_call(model, weights, (x,)), y)

    meta.zero_grad()
    meta_loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    meta.step()
    if it % 20 == 19:
        print(f"{it + 1} meta loss {meta_loss.item() / 4:.3f} inner rate {inner_lr.item():.4f}")
