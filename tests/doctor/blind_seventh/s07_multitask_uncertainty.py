"""Shared trunk, one regression and one classification head, losses weighted by learned uncertainties."""
import torch
import torch.nn as nn
import torch.nn.functional as F

CFG = dict(hidden=48, lr=5e-3, steps=150, batch=64, seed=11)


class MultiTaskNet(nn.Module):
    def __init__(self, d_in, hidden):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.depth = nn.Linear(hidden, 1)
        self.label = nn.Linear(hidden, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.depth(h).squeeze(-1), self.label(h)


class UncertaintyWeighting(nn.Module):
    def __init__(self, n_tasks):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(n_tasks))

    def forward(self, losses):
        total = 0.0
        for i, loss in enumerate(losses):
            total = total + torch.exp(-self.log_vars[i]) * loss + self.log_vars[i]
        return total


def make_batch(n, w):
    x = torch.randn(n, 10)
    depth = 20 * (x @ w)[:, 0] + 5 * torch.randn(n)
    label = (x @ w)[:, 1:].argmax(1)
    return x, depth, label


torch.manual_seed(CFG["seed"])
w = torch.randn(10, 4)
model = MultiTaskNet(10, CFG["hidden"])
criterion = UncertaintyWeighting(2)
optimizer = torch.optim.Adam(model.parameters(), lr=CFG["lr"])

for step in range(CFG["steps"]):
    x, depth, label = make_batch(CFG["batch"], w)
    pred_depth, pred_label = model(x)
    losses = [F.mse_loss(pred_depth, depth), F.cross_entropy(pred_label, label)]
    loss = criterion(losses)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"{step:4d} depth {losses[0].item():8.2f} label {losses[1].item():.3f}")

weights = torch.exp(-criterion.log_vars.detach())
print("task weights:", weights.tolist())
