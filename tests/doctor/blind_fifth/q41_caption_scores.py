import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(71)
torch.set_num_threads(1)


class TwoTower(nn.Module):
    def __init__(self, d_img=24, d_txt=16, d=32):
        super().__init__()
        self.img = nn.Sequential(nn.Linear(d_img, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, d))
        self.txt = nn.Sequential(nn.Linear(d_txt, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, d))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, a, b):
        a, b = F.normalize(self.img(a), dim=1), F.normalize(self.txt(b), dim=1)
        return self.scale.exp() * a @ b.t()


def pairs(n, g):
    z = torch.randn(n, 8, generator=g)
    return z @ Wi + 0.5 * torch.randn(n, 24, generator=g), z @ Wt + 0.5 * torch.randn(n, 16, generator=g)


def validate(model, a, b):
    model.eval()
    with torch.no_grad():
        logits = model(a, b)
        recall = (logits.argmax(1) == torch.arange(len(a))).float().mean().item()
    return recall


gen = torch.Generator().manual_seed(0)
Wi, Wt = torch.randn(8, 24, generator=gen), torch.randn(8, 16, generator=gen)
train_a, train_b = pairs(512, gen)
val_a, val_b = pairs(128, gen)

model = TwoTower()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
model.train()
step = 0
for epoch in range(12):
    total = 0.0
    for idx in torch.randperm(512).split(64):
        logits = model(train_a[idx], train_b[idx])
        target = torch.arange(len(idx))
        loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        step += 1
        if step % 10 == 0:
            recall = validate(model, val_a, val_b)
    print(f"epoch {epoch} loss {total / 8:.4f} recall@1 {recall if step >= 10 else 0:.3f}")
