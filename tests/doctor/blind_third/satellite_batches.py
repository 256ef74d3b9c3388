import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(38)


class LandCover(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(4, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU()
        )
        self.classify = nn.Linear(12, 3)

    def forward(self, x):
        return self.classify(self.features(x).amax(dim=(2, 3)))


def tiles(n):
    x = torch.randn(n, 4, 8, 8)
    y = torch.randint(0, 3, (n,))
    for k in range(3):
        x[y == k, k] += 0.7
    return x, y


def groups(n, group, micro):
    order = torch.randperm(n)
    for g in order.split(group):
        yield g, g.split(micro)


model = LandCover()
x, y = tiles(150)
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
optimizer.zero_grad()
for epoch in range(8):
    running = 0.0
    for whole, parts in groups(len(x), group=48, micro=16):
        for part in parts:
            loss = F.cross_entropy(model(x[part]), y[part], reduction="sum") / len(whole)
            loss.backward()
            running += loss.item() * len(whole)
        optimizer.step()
        optimizer.zero_grad()
    print(f"epoch {epoch} loss {running / len(x):.4f}")
