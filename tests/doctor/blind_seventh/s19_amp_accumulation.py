"""Mixed precision with gradient accumulation and clipping (bfloat16 autocast on the CPU)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

cfg = {"micro": 8, "accum": 4, "updates": 12, "lr": 1e-3, "clip": 1.0}

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 10)
teacher = torch.randn(20, 5)


def loader(n):
    for _ in range(n):
        x = torch.randn(cfg["micro"], 20)
        yield x, (x @ teacher).argmax(1)


running = 0.0
optimizer.zero_grad(set_to_none=True)
for i, (x, y) in enumerate(loader(cfg["updates"] * cfg["accum"])):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y) / cfg["accum"]
    scaler.scale(loss).backward()
    running += loss.item()

    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])

    if (i + 1) % cfg["accum"] == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        print(f"update {(i + 1) // cfg['accum']:3d} loss {running:.4f} norm {norm:.3f}")
        running = 0.0
