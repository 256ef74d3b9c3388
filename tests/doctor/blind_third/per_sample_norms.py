"""Per-sample gradient norms for finding mislabelled rows."""
import torch
import torch.nn as nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(12)

model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 3))
rows = torch.randn(80, 6)
targets = torch.stack([rows[:, 0], rows[:, 1] * 0.5, rows[:, 2] - rows[:, 3]], dim=1)
targets[::20] += 5.0  # a few broken labels

mse = nn.MSELoss(reduction="none")


def fit(steps):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        opt.zero_grad()
        mse(model(rows), targets).mean().backward()
        opt.step()


def sample_loss(params, row, target):
    pred = functional_call(model, params, (row.unsqueeze(0),))
    return mse(pred, target.unsqueeze(0))


def gradient_norms():
    params = {k: v.detach() for k, v in model.named_parameters()}
    grads = vmap(grad(sample_loss), in_dims=(None, 0, 0))(params, rows, targets)
    flat = torch.cat([g.flatten(1) for g in grads.values()], dim=1)
    return flat.norm(dim=1)


fit(80)
norms = gradient_norms()
suspects = norms.topk(4).indices.sort().values
print("suspicious rows:", suspects.tolist())
