"""Knowledge distillation; the teacher is frozen and its logits are cached once per batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(27)

x = torch.randn(400, 10)
y = (x[:, 0].abs() + x[:, 1] > 0.6).long()


def net(width):
    return nn.Sequential(nn.Linear(10, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 2))


def fit_teacher():
    t = net(64)
    opt = torch.optim.Adam(t.parameters(), lr=1e-2)
    for _ in range(80):
        opt.zero_grad()
        F.cross_entropy(t(x), y).backward()
        opt.step()
    return t


teacher = fit_teacher()
teacher.eval()
teacher.requires_grad_(False)

student = net(8)
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
T, alpha = 3.0, 0.7
cache = {}
batches = list(torch.arange(400).split(50))

for epoch in range(15):
    student.train()
    for k, idx in enumerate(batches):
        if k not in cache:
            with torch.no_grad():
                cache[k] = F.softmax(teacher(x[idx]) / T, dim=1)
        logits = student(x[idx])
        soft = F.kl_div(F.log_softmax(logits / T, dim=1), cache[k], reduction="batchmean") * T * T
        loss = alpha * soft + (1 - alpha) * F.cross_entropy(logits, y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()

student.eval()
with torch.no_grad():
    print("student acc", (student(x).argmax(1) == y).float().mean().item())
print("teacher grads:", [p.grad is not None for p in teacher.parameters()][:1])
