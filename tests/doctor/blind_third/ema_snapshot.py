import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(90)


class WeightAverage:
    """Exponential moving average of the weights, used for evaluation."""

    def __init__(self, model, decay=0.98):
        self.decay = decay
        self.shadow = {n: p.detach() for n, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)

    def distance(self, model):
        gaps = [(self.shadow[n] - p.detach()).norm() for n, p in model.named_parameters()]
        return torch.stack(gaps).norm().item()


def noisy_batch(n=16):
    x = torch.randn(n, 8)
    y = torch.sin(x[:, :1]) + x[:, 1:2] * 0.5 + 0.5 * torch.randn(n, 1)
    return x, y


model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
average = WeightAverage(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x_val = torch.randn(500, 8)
y_val = torch.sin(x_val[:, :1]) + x_val[:, 1:2] * 0.5

for step in range(300):
    x, y = noisy_batch()
    loss = F.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    average.update(model)
    if step % 100 == 99:
        with torch.no_grad():
            val = F.mse_loss(model(x_val), y_val).item()
            val_avg = F.mse_loss(torch.func.functional_call(model, average.shadow, (x_val,)), y_val).item()
        print(f"step {step + 1} val {val:.4f} averaged {val_avg:.4f} distance {average.distance(model):.5f}")
