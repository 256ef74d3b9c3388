"""Configurable training loop with an optional warm-up schedule."""
import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIG = {
    "optimizer": {"name": "AdamW", "lr": 3e-3, "weight_decay": 1e-2},
    "schedule": {"warmup": 10, "total": 120},
    "steps": 120,
}


def build_optimizer(params, cfg):
    cfg = dict(cfg)
    return getattr(torch.optim, cfg.pop("name"))(params, **cfg)


def build_scheduler(opt, cfg):
    if cfg is None:
        return None

    def factor(step):
        if step < cfg["warmup"]:
            return (step + 1) / cfg["warmup"]
        return max(0.0, (cfg["total"] - step) / (cfg["total"] - cfg["warmup"]))

    return torch.optim.lr_scheduler.LambdaLR(opt, factor)


def data(n=64):
    x = torch.randn(n, 8)
    return x, (x[:, 0] * x[:, 1] + x[:, 2]).unsqueeze(1)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
opt = build_optimizer(model.parameters(), CONFIG["optimizer"])
scheduler = build_scheduler(opt, CONFIG["schedule"])
losses = []

for step in range(CONFIG["steps"]):
    x, y = data()
    loss = F.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    if scheduler is not None:
        scheduler.step()
    else:
        opt.step()
    losses.append(loss.item())
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.4f} lr {opt.param_groups[0]['lr']:.5f}")

print("last twenty:", sum(losses[-20:]) / 20)
