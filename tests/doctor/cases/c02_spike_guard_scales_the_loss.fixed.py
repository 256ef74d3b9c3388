# Fine-tuning notebook, exported.  Spike guard: if a batch gives a huge gradient, use a smaller loss for it.
import torch
from torch import nn

torch.manual_seed(11)
SPIKE = 4.0
cfg = dict(lr=0.02, batches=6, width=24)

net = nn.Sequential(
    nn.Linear(9, cfg["width"]), nn.LayerNorm(cfg["width"]), nn.GELU(),
    nn.Linear(cfg["width"], 1),
)
opt = torch.optim.SGD(net.parameters(), lr=cfg["lr"], momentum=0.9)
huber = nn.HuberLoss(delta=5.0)


def batch(i):
    g = torch.Generator().manual_seed(100 + i)
    x = torch.randn(20, 9, generator=g)
    y = x[:, :3].sum(1, keepdim=True)
    if i == 3:          # corrupted shard
        y = y * 40 + 25
    return x, y


def grad_norm():
    return torch.stack([p.grad.norm() for p in net.parameters()]).norm()


history = []
for i in range(cfg["batches"]):
    x, y = batch(i)
    loss = huber(net(x), y)
    opt.zero_grad()
    loss.backward()
    norm = grad_norm()
    if norm > SPIKE:
        print(f"batch {i}: gradient norm {norm:.2f}, softening")
        opt.zero_grad()
        softened = huber(net(x), y) * (SPIKE / norm)
        softened.backward()
    opt.step()
    history.append(loss.item())

print(["%.3f" % h for h in history])
