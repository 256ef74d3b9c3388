"""Two task network, the task weights are learned (homoscedastic uncertainty)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


class MultiTaskLoss(nn.Module):
    def __init__(self, n_tasks):
        super().__init__()
        self.log_vars = torch.zeros(n_tasks, requires_grad=True)

    def forward(self, *losses):
        total = 0
        for s, loss in zip(self.log_vars, losses):
            total = total + torch.exp(-s) * loss + s
        return total


class TwoHeads(nn.Module):
    def __init__(self, d=6, h=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.reg = nn.Linear(h, 1)
        self.cls = nn.Linear(h, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.reg(h).squeeze(1), self.cls(h)


def data(n=300):
    x = torch.randn(n, 6)
    depth = 20 * x[:, 0] + 5 * torch.randn(n)
    label = (x[:, 1] + x[:, 2] > 0).long()
    return x, depth, label


model = TwoHeads()
weighting = MultiTaskLoss(2)
optimizer = torch.optim.Adam(list(model.parameters()) + list(weighting.parameters()), lr=1e-2)

x, depth, label = data()
for step in range(200):
    pred, logits = model(x)
    l_reg = F.mse_loss(pred, depth)
    l_cls = F.cross_entropy(logits, label)
    loss = weighting(l_reg, l_cls)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        sigma = torch.exp(0.5 * weighting.log_vars).tolist()
        print(f"{step + 1}: reg {l_reg.item():.2f} cls {l_cls.item():.3f} sigma {sigma[0]:.2f} {sigma[1]:.2f}")
