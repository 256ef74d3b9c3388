import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(74)


class EMA:
    """Shadow weights for evaluation, kept by name."""

    def __init__(self, model, decay=0.98):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.named_parameters()}

    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name] = self.decay * self.shadow[name] + (1 - self.decay) * p

    def copy_to(self, model):
        twin = copy.deepcopy(model)
        with torch.no_grad():
            for name, p in twin.named_parameters():
                p.copy_(self.shadow[name])
        return twin.eval()


class Regressor(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.fc1 = nn.Linear(d, 64)
        self.fc2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(F.silu(self.fc2(F.silu(self.fc1(x)))))


w = torch.randn(6, 1)


def batch(n=64):
    x = torch.randn(n, 6)
    return x, torch.tanh(x @ w) + 0.2 * torch.randn(n, 1)


model = Regressor()
ema = EMA(model)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=200)
x_val = torch.randn(400, 6)
y_val = torch.tanh(x_val @ w)
for step in range(200):
    x, y = batch()
    loss = F.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    ema.update(model)
    if step % 50 == 49:
        with torch.no_grad():
            raw = F.mse_loss(model(x_val), y_val).item()
            avg = F.mse_loss(ema.copy_to(model)(x_val), y_val).item()
        print(f"step {step} val raw {raw:.4f} ema {avg:.4f}")
