"""Semi-supervised training with an exponential moving average of the weights."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)


class EMA:
    def __init__(self, model, decay=0.98):
        self.decay = decay
        self.shadow = {name: p.data for name, p in model.named_parameters()}

    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name].mul_(self.decay).add_(p.data, alpha=1 - self.decay)

    def predict(self, model, x):
        with torch.no_grad():
            return torch.func.functional_call(model, self.shadow, (x,))


def make_model():
    return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))


def rings(n):
    y = torch.randint(0, 2, (n,))
    a = torch.rand(n) * 6.2832
    r = 1.0 + y.float() + 0.15 * torch.randn(n)
    return torch.stack([r * a.cos(), r * a.sin()], 1), y


model = make_model()
ema = EMA(model)
opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
x_lab, y_lab = rings(40)
x_unl, y_unl = rings(400)

for step in range(150):
    noisy = x_unl + 0.1 * torch.randn_like(x_unl)
    target = F.softmax(ema.predict(model, x_unl), dim=1)
    sup = F.cross_entropy(model(x_lab), y_lab)
    cons = F.mse_loss(F.softmax(model(noisy), dim=1), target)
    loss = sup + 2.0 * cons
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
    if step % 50 == 49:
        gap = sum((ema.shadow[n] - p).abs().sum() for n, p in model.named_parameters()).item()
        acc = (ema.predict(model, x_unl).argmax(1) == y_unl).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} ema acc {acc:.3f} |ema - weights| {gap:.4f}")
