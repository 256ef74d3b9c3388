"""Mixed precision with gradient accumulation and clipping."""
import torch
import torch.nn as nn

torch.manual_seed(21)

cfg = {"accum": 4, "lr": 0.05, "clip": 1.0, "iters": 24, "batch": 16}

model = nn.Sequential(nn.Linear(10, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"])
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)


def loader():
    w = torch.randn(10, 1)
    for _ in range(cfg["iters"]):
        x = torch.randn(cfg["batch"], 10)
        yield x, torch.tanh(x @ w)


def train():
    model.train()
    for i, (x, y) in enumerate(loader()):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pred = model(x)
            loss = nn.functional.mse_loss(pred.float(), y) / cfg["accum"]
        scaler.scale(loss).backward()

        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
        if (i + 1) % cfg["accum"] == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            print(f"iter {i + 1} loss {loss.item() * cfg['accum']:.4f} scale {scaler.get_scale()}")


train()
