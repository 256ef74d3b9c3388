"""Logit distillation from a teacher with batch norm and dropout."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(width, p):
    return nn.Sequential(nn.Linear(10, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p), nn.Linear(width, 5))


def sample(n, w, shift=0.0):
    x = torch.randn(n, 10) + shift
    return x, (x @ w).argmax(1)


def pretrain(model, w, steps=80):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(steps):
        x, y = sample(64, w)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    return model


def freeze(model):
    for p in model.parameters():
        p.requires_grad_(False)
    return model


def distill(teacher, student, w, steps=120, T=2.0, alpha=0.8):
    opt = torch.optim.Adam(student.parameters(), lr=5e-3)
    student.train()
    for step in range(steps):
        x, y = sample(64, w, shift=0.3)
        with torch.no_grad():
            soft = F.softmax(teacher(x) / T, dim=1)
        logits = student(x)
        kd = F.kl_div(F.log_softmax(logits / T, dim=1), soft, reduction="batchmean") * T * T
        loss = alpha * kd + (1 - alpha) * F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 40 == 0:
            print(f"{step} loss {loss.item():.4f}")
    return student


if __name__ == "__main__":
    torch.manual_seed(0)
    w = torch.randn(10, 5)
    teacher = freeze(pretrain(mlp(64, 0.5), w))
    stats_before = teacher[1].running_mean.clone()
    student = distill(teacher, mlp(16, 0.0), w)
    x, y = sample(500, w)
    student.eval()
    print("student accuracy", (student(x).argmax(1) == y).float().mean().item())
