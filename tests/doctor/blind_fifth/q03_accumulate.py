import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
torch.set_num_threads(1)

ACCUM = 4
xs = torch.linspace(-3, 3, 512).unsqueeze(1)
ys = torch.sin(xs) + 0.05 * torch.randn_like(xs)
loader = DataLoader(TensorDataset(xs, ys), batch_size=16, shuffle=True)

model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 0.5 * (1 + math.cos(math.pi * min(s, 320) / 320)))
criterion = nn.MSELoss()


def train_epoch():
    running = 0.0
    optimizer.zero_grad()
    for step, (xb, yb) in enumerate(loader, 1):
        loss = criterion(model(xb), yb)
        (loss / ACCUM).backward()
        running += loss.item()
        if step % ACCUM == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    return running / len(loader)


@torch.no_grad()
def rmse():
    return criterion(model(xs), torch.sin(xs)).sqrt().item()


history = []
for epoch in range(30):
    history.append(train_epoch())
    if epoch % 10 == 0 or epoch == 29:
        print(f"epoch {epoch:2d} loss {history[-1]:.4f} rmse {rmse():.4f}")
