import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(67)
N, FIELDS, CARD = 600, 4, 12


class DeepFM(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.emb = nn.ModuleList(nn.Embedding(CARD, dim) for _ in range(FIELDS))
        self.lin = nn.ModuleList(nn.Embedding(CARD, 1) for _ in range(FIELDS))
        self.mlp = nn.Sequential(nn.Linear(FIELDS * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        e = torch.stack([m(x[:, i]) for i, m in enumerate(self.emb)], 1)
        first = sum(m(x[:, i]) for i, m in enumerate(self.lin)).squeeze(1)
        second = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(1)
        return first + second + self.mlp(e.flatten(1)).squeeze(1)


def grad_norm(model):
    sq = [p.grad.detach().pow(2).sum() for p in model.parameters() if p.grad is not None]
    return torch.stack(sq).sum().sqrt().item()


x = torch.randint(0, CARD, (N, FIELDS))
score = torch.sin(x[:, 0].float()) + 0.2 * (x[:, 1] == x[:, 2]).float() * 5 - 0.1 * x[:, 3]
y = (score + 0.1 * torch.randn(N) > 0).float()
loader = DataLoader(TensorDataset(x, y), batch_size=60, shuffle=True)

model = DeepFM()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    total, gn = 0.0, 0.0
    for xb, yb in loader:
        loss = F.binary_cross_entropy_with_logits(model(xb), yb)
        opt.zero_grad()
        # gradients are inspected below, so keep them in the graph
        loss.backward(create_graph=True)
        gn = max(gn, grad_norm(model))
        opt.step()
        total += loss.item() * len(xb)
    with torch.no_grad():
        acc = ((model(x) > 0).float() == y).float().mean()
    print(f"epoch {epoch} loss {total / N:.4f} acc {acc.item():.3f} max grad norm {gn:.2f}")
