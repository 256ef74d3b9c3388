from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class DistillSettings:
    temperature: float = 3.0
    weight: float = 0.7
    lr: float = 0.3
    warmup: int = 10
    steps: int = 80
    history: list = field(default_factory=list)


def mlp(*sizes):
    layers = []
    for i, o in zip(sizes, sizes[1:]):
        layers += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def teacher_for(x, y, steps=60):
    net = mlp(10, 64, 64, 4)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(steps):
        loss = F.cross_entropy(net(x), y)
        net.zero_grad()
        loss.backward()
        opt.step()
    return net.eval().requires_grad_(False)


class Distiller:
    def __init__(self, teacher, student, cfg):
        self.teacher, self.student, self.cfg = teacher, student, cfg
        self.opt = torch.optim.SGD(student.parameters(), lr=cfg.lr)
        self.count = 0

    def objective(self, x, y):
        t = self.cfg.temperature
        s_logits = self.student(x)
        hard = F.cross_entropy(s_logits, y)
        soft = F.kl_div(F.log_softmax(s_logits / t, 1), F.softmax(self.teacher(x) / t, 1), reduction="batchmean")
        return hard, soft * t * t

    def __call__(self, x, y):
        self.count += 1
        hard, soft = self.objective(x, y)
        if self.count <= self.cfg.warmup:
            self.opt.zero_grad()
            hard.backward()
        else:
            w = self.cfg.weight
            (w * soft + (1 - w) * hard).backward()
        self.opt.step()
        self.cfg.history.append(hard.item())


torch.manual_seed(23)
X = torch.randn(256, 10)
Y = (X[:, :4] + 0.3 * X[:, 4:8]).argmax(1)
cfg = DistillSettings()
train = Distiller(teacher_for(X, Y), mlp(10, 12, 4), cfg)
for step in range(cfg.steps):
    rows = torch.randint(0, 256, (64,))
    train(X[rows], Y[rows])
acc = (train.student(X).argmax(1) == Y).float().mean()
print(f"ce {cfg.history[0]:.3f} -> {cfg.history[-1]:.3f}  acc {acc:.3f}")
