# DP-SGD from scratch: clip each example's gradient, add noise, average.
import torch
import torch.nn as nn

torch.manual_seed(8)
CLIP, SIGMA = 1.0, 0.4


class PrivateTrainer:
    def __init__(self, model, lr):
        self.model = model
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.opt = torch.optim.SGD(self.params, lr=lr)
        self.criterion = nn.CrossEntropyLoss(reduction="none")
        self.noise = torch.Generator().manual_seed(0)

    def clipped(self, grads):
        norm = torch.sqrt(sum(g.pow(2).sum() for g in grads))
        return [g * (CLIP / norm).clamp(max=1.0) for g in grads]

    def step(self, x, y):
        losses = self.criterion(self.model(x), y)
        sums = [torch.zeros_like(p) for p in self.params]
        for loss in losses:
            per_sample = torch.autograd.grad(loss, self.params)
            for total, g in zip(sums, self.clipped(per_sample)):
                total += g
        for p, total in zip(self.params, sums):
            noise = torch.randn(p.shape, generator=self.noise) * SIGMA * CLIP
            p.grad = (total + noise) / len(x)
        self.opt.step()
        return losses.mean().item()


def convnet():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(36, 3)
    )


def digits(n):
    y = torch.arange(n) % 3
    x = torch.randn(n, 1, 8, 8) * 0.2
    for row, label in enumerate(y.tolist()):
        x[row, 0, 2 * label: 2 * label + 2] += 1.0
    return x, y


trainer = PrivateTrainer(convnet(), lr=0.1)
for step in range(3):
    print(step, round(trainer.step(*digits(9)), 4))
