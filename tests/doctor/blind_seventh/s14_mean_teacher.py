"""Mean teacher for semi-supervised two moons."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def moons(n):
    t = math.pi * torch.rand(n)
    y = torch.randint(0, 2, (n,))
    x = torch.stack([torch.cos(t), torch.sin(t)], 1)
    x[y == 1] = torch.tensor([1.0, 0.5]) - x[y == 1]
    return x + 0.1 * torch.randn(n, 2), y


def ramp(step, total):
    return math.exp(-5 * (1 - min(1.0, step / total)) ** 2)


class MeanTeacher:
    def __init__(self, student, decay=0.98):
        self.student = student
        self.teacher = copy.deepcopy(student)
        self.decay = decay

    def update_teacher(self):
        for pt, ps in zip(self.teacher.parameters(), self.student.parameters()):
            pt.mul_(self.decay).add_(ps.detach(), alpha=1 - self.decay)

    def consistency(self, x):
        noisy_a = x + 0.1 * torch.randn_like(x)
        noisy_b = x + 0.1 * torch.randn_like(x)
        with torch.no_grad():
            target = F.softmax(self.teacher(noisy_b), 1)
        return F.mse_loss(F.softmax(self.student(noisy_a), 1), target)


torch.manual_seed(0)
x_lab, y_lab = moons(10)
x_unl, y_unl = moons(400)
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
mt = MeanTeacher(net)
opt = torch.optim.Adam(mt.student.parameters(), lr=5e-3)

STEPS = 100
for step in range(STEPS):
    batch = x_unl[torch.randint(0, len(x_unl), (64,))]
    loss = F.cross_entropy(mt.student(x_lab), y_lab) + 3 * ramp(step, STEPS) * mt.consistency(batch)
    opt.zero_grad()
    loss.backward()
    opt.step()
    mt.update_teacher()
    if step % 25 == 0:
        with torch.no_grad():
            acc = (mt.teacher(x_unl).argmax(1) == y_unl).float().mean()
        print(f"step {step} loss {loss.item():.3f} teacher acc {acc:.3f}")
