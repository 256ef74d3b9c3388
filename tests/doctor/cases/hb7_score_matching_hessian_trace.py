import torch
import torch.nn as nn


class Energy(nn.Module):
    def __init__(self, dim=2, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.Softplus(), nn.Linear(hidden, 1))
        self.log_scale = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return self.net(x).squeeze(-1) + 0.5 * (self.log_scale.exp() * x.square()).sum(-1)


def implicit_score_matching(energy, x):
    x = x.detach().requires_grad_(True)
    score = torch.autograd.grad(-energy(x).sum(), x, create_graph=True)[0]
    trace = 0.0
    for column in range(x.shape[1]):
        row = torch.autograd.grad(score[:, column].sum(), x, create_graph=True)[0]
        trace = trace + row[:, column]
    return (trace + 0.5 * score.square().sum(-1)).mean()


def samples(n):
    mixture = torch.where(torch.rand(n, 1) < 0.5, 1.0, -1.0)
    return mixture + 0.4 * torch.randn(n, 2)


torch.manual_seed(0)
energy = Energy()
optimizer = torch.optim.Adam(energy.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [40, 60], gamma=0.3)
for step in range(80):
    loss = implicit_score_matching(energy, samples(256))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 20 == 19:
        print(f"step {step} objective {loss.item():.4f}")
