import torch
import torch.nn as nn
import torch.nn.functional as F


def flat_dot(a, b):
    return sum((x * y).sum() for x, y in zip(a, b))


def rademacher_like(params, gen):
    return [torch.randint(0, 2, p.shape, generator=gen).to(p.dtype) * 2 - 1 for p in params]


class CurvatureMonitor:
    """Estimates the trace of the Hessian with random probes every few steps."""

    def __init__(self, model, probes=4, every=5, seed=0):
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.probes, self.every = probes, every
        self.gen = torch.Generator().manual_seed(seed)
        self.history = {}

    def hessian_vector(self, grads, v):
        return torch.autograd.grad(flat_dot(grads, v), self.params, retain_graph=True)

    def trace(self, loss):
        grads = torch.autograd.grad(loss, self.params, create_graph=True)
        estimates = []
        for _ in range(self.probes):
            v = rademacher_like(self.params, self.gen)
            hv = self.hessian_vector(grads, v)
            estimates.append(flat_dot(hv, v).item())
        return sum(estimates) / len(estimates)

    def maybe(self, step, model, x, y):
        if step % self.every == 0:
            loss = F.cross_entropy(model(x), y)
            self.history[step] = self.trace(loss)


def train():
    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(5, 12), nn.Softplus(), nn.Linear(12, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    monitor = CurvatureMonitor(model)
    for step in range(20):
        monitor.maybe(step, model, x, y)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for step, value in monitor.history.items():
        print(f"step {step:2d} trace {value:.3f}")
    print("final loss", round(loss.item(), 4))


if __name__ == "__main__":
    train()
