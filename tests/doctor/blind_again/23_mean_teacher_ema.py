import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def build_student(d=8, k=3):
    return nn.Sequential(nn.Linear(d, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, k))


class MeanTeacher:
    def __init__(self, student, decay=0.98):
        self.decay = decay
        self.student = student
        self.teacher = copy.deepcopy(student)
        self.updates = 0

    def update(self):
        self.updates += 1
        keep = min(self.decay, 1 - 1 / (self.updates + 1))
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.mul_(keep).add_(s, alpha=1 - keep)
        for t, s in zip(self.teacher.buffers(), self.student.buffers()):
            t.copy_(s)

    @torch.no_grad()
    def predict(self, x):
        self.teacher.eval()
        return self.teacher(x).softmax(-1)


def noisy(x, sigma):
    return x + sigma * torch.randn_like(x)


torch.manual_seed(21)
prototypes = torch.randn(3, 8) * 2
labels = torch.randint(0, 3, (30,))
labelled = noisy(prototypes[labels], 1.0)
unlabelled = noisy(prototypes[torch.randint(0, 3, (300,))], 1.0)

pair = MeanTeacher(build_student())
optimizer = torch.optim.AdamW(pair.student.parameters(), lr=3e-3)
for step in range(60):
    u = unlabelled[torch.randint(0, 300, (64,))]
    target = pair.predict(noisy(u, 0.2))
    student_u = pair.student(noisy(u, 0.2)).softmax(-1)
    supervised = F.cross_entropy(pair.student(labelled), labels)
    consistency = F.mse_loss(student_u, target)
    optimizer.zero_grad()
    (supervised + 2.0 * consistency).backward()
    optimizer.step()
    pair.update()

agree = (pair.predict(labelled).argmax(1) == labels).float().mean()
print(f"supervised {supervised.item():.3f} consistency {consistency.item():.4f} teacher acc {agree:.2f}")
