import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class EMA:
    """A smoothed copy of a model, used for evaluation."""

    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.model = copy.deepcopy(model).eval()
        self.model.requires_grad_(False)

    @torch.no_grad()
    def update(self, source):
        for mine, theirs in zip(self.model.parameters(), source.parameters()):
            mine.mul_(self.decay).add_(theirs, alpha=1 - self.decay)
        for mine, theirs in zip(self.model.buffers(), source.buffers()):
            mine.copy_(theirs)


def network(width):
    return nn.Sequential(
        nn.Linear(8, width), nn.BatchNorm1d(width), nn.ReLU(inplace=True), nn.Linear(width, 4)
    )


def labelled(n, gen):
    x = torch.randn(n, 8, generator=gen)
    return x, x.view(n, 4, 2).sum(-1).argmax(1)


def pretrain(model, gen, steps=40):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x, y = labelled(64, gen)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    return model


torch.manual_seed(0)
gen = torch.Generator().manual_seed(1)
teacher = pretrain(network(48), gen).eval()
for p in teacher.parameters():
    p.requires_grad = False

student = network(12)
ema = EMA(student)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
for step in range(30):
    x, y = labelled(32, gen)
    logits = student(x)
    soft = F.softmax(teacher(x) / 2.0, dim=1)
    distill = F.kl_div(F.log_softmax(logits / 2.0, dim=1), soft, reduction="batchmean")
    loss = 0.3 * F.cross_entropy(logits, y) + 0.7 * 4.0 * distill
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(student)
    if step % 10 == 9:
        with torch.no_grad():
            x, y = labelled(200, gen)
            accuracy = (ema.model(x).argmax(1) == y).float().mean()
        print(step, round(loss.item(), 4), f"ema accuracy {accuracy.item():.3f}")
