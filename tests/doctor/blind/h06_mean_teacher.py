import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(106)


class MeanTeacher:
    def __init__(self, student, decay):
        self.decay = decay
        self.student = student
        self.teacher = copy.deepcopy(student).requires_grad_(False)

    def update(self):
        with torch.no_grad():
            for pt, ps in zip(self.teacher.parameters(), self.student.parameters()):
                pt.mul_(self.decay).add_(ps, alpha=1 - self.decay)


def moons(n):
    y = torch.randint(0, 2, (n,))
    a = torch.rand(n) * 3.14
    x = torch.stack([torch.cos(a) * (1 - 2 * y) + y, torch.sin(a) * (1 - 2 * y) + 0.3 * y], 1)
    return x + 0.1 * torch.randn(n, 2), y


net = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
mt = MeanTeacher(net, decay=0.97)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
x_lab, y_lab = moons(24)
for step in range(200):
    x_un, _ = moons(128)
    noisy = x_un + 0.1 * torch.randn_like(x_un)
    sup = F.cross_entropy(net(x_lab), y_lab)
    target = mt.teacher(x_un).softmax(-1)
    cons = F.mse_loss(net(noisy).softmax(-1), target)
    w = min(1.0, step / 100)
    loss = sup + w * cons
    opt.zero_grad()
    loss.backward()
    opt.step()
    mt.update()
    if step % 50 == 0:
        with torch.no_grad():
            xv, yv = moons(400)
            acc = (mt.teacher(xv).argmax(1) == yv).float().mean().item()
        print(f"{step} sup {sup.item():.3f} cons {cons.item():.4f} teacher acc {acc:.3f}")
