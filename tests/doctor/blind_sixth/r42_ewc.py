"""Elastic weight consolidation on two regression tasks learned one after the other."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def make_task(shift):
    x = torch.rand(200, 1) * 2 + shift
    return x, torch.sin(2 * x)


class EWC:
    def __init__(self, model, x, strength):
        self.strength = strength
        self.anchor = {n: p.detach() for n, p in model.named_parameters()}
        self.importance = self.fisher(model, x)

    def fisher(self, model, x):
        # gaussian likelihood: squared gradient of the prediction
        total = {n: torch.zeros_like(p) for n, p in model.named_parameters()}
        for xi in x[::2]:
            model.zero_grad()
            model(xi).sum().backward()
            for n, p in model.named_parameters():
                total[n] += p.grad.detach() ** 2
        model.zero_grad()
        return {n: v / len(x[::2]) for n, v in total.items()}

    def penalty(self, model):
        terms = [(self.importance[n] * (p - self.anchor[n]).pow(2)).sum() for n, p in model.named_parameters()]
        return self.strength * torch.stack(terms).sum()


def fit(model, x, y, steps, regularizer=None):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        loss = F.mse_loss(model(x), y)
        if regularizer is not None:
            loss = loss + regularizer.penalty(model)
        opt.zero_grad()
        loss.backward()
        opt.step()


@torch.no_grad()
def error(model, task):
    return F.mse_loss(model(task[0]), task[1]).item()


model = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
task_a, task_b = make_task(-2.0), make_task(0.5)

fit(model, *task_a, steps=250)
print(f"after A: error A {error(model, task_a):.4f}")
ewc = EWC(model, task_a[0], strength=1000.0)
fit(model, *task_b, steps=250, regularizer=ewc)
with torch.no_grad():
    final_penalty = ewc.penalty(model).item()
print(f"after B: error A {error(model, task_a):.4f} error B {error(model, task_b):.4f} penalty {final_penalty:.4f}")
