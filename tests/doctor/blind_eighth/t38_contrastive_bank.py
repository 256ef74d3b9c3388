"""Instance discrimination with a memory bank that is refreshed every epoch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(37)


class Embedder(nn.Module):
    def __init__(self, n_in=16, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 48), nn.ReLU(), nn.Linear(48, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


@torch.inference_mode()
def compute_bank(model, x):
    model.eval()
    chunks = [model(part) for part in x.split(64)]
    model.train()
    return torch.cat(chunks)


def augment(x):
    return x + 0.1 * torch.randn_like(x)


def nce_loss(query, bank, idx, tau=0.2):
    logits = query @ bank.t() / tau
    return F.cross_entropy(logits, idx)


x = torch.randn(256, 16)
model = Embedder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(6):
    bank = compute_bank(model, x)
    total = 0.0
    for idx in torch.randperm(len(x)).split(64):
        loss = nce_loss(model(augment(x[idx])), bank, idx)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} nce {total / 4:.4f}")
