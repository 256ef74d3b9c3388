"""Two-phase fine-tuning: head first, then everything, with a decaying learning rate."""
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ExponentialLR

torch.manual_seed(36)

EPOCHS, UNFREEZE_EPOCH, BASE_LR, GAMMA = 24, 6, 0.02, 0.8

backbone = nn.Sequential(nn.Linear(10, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh())
head = nn.Linear(40, 1)
model = nn.Sequential(backbone, head)

x = torch.randn(200, 10)
y = torch.sin(x[:, :1] + x[:, 1:2]) + 0.1 * torch.randn(200, 1)


def make_optimizer():
    params = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.Adam(params, lr=BASE_LR)


def one_epoch(opt):
    total = 0.0
    for idx in torch.randperm(len(x)).split(25):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / 8


for p in backbone.parameters():
    p.requires_grad_(False)
optimizer = make_optimizer()
scheduler = ExponentialLR(optimizer, gamma=GAMMA)

for epoch in range(EPOCHS):
    if epoch == UNFREEZE_EPOCH:
        for p in backbone.parameters():
            p.requires_grad_(True)
        optimizer = make_optimizer()
    avg = one_epoch(optimizer)
    scheduler.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1:2d} loss {avg:.4f} lr {optimizer.param_groups[0]['lr']:.6f}")
