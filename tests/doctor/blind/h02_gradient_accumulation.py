import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(102)
ACCUM, MICRO = 4, 16


def make_loader(n_micro):
    w = torch.linspace(-1, 1, 8)
    for _ in range(n_micro):
        x = torch.randn(MICRO, 8)
        yield x, (x @ w > 0).long()


model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=30)

opt.zero_grad()
running = 0.0
n_micro = 30 * ACCUM
for i, (x, y) in enumerate(make_loader(n_micro)):
    loss = F.cross_entropy(model(x), y)
    (loss / ACCUM).backward()
    running += loss.detach()
    last = i == n_micro - 1
    if (i + 1) % ACCUM == 0 or last:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        opt.step()
        sched.step()
        opt.zero_grad(set_to_none=True)
        if ((i + 1) // ACCUM) % 10 == 0:
            print(f"update {(i + 1) // ACCUM} loss {running.item() / ACCUM:.4f} lr {sched.get_last_lr()[0]:.4f}")
        running = 0.0

model.eval()
with torch.no_grad():
    x, y = next(make_loader(1))
    print("acc", (model(x).argmax(1) == y).float().mean().item())
