import contextlib
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Averager:
    def __init__(self, model, decay):
        self.avg = copy.deepcopy(model).eval()
        for p in self.avg.parameters():
            p.requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for a, p in zip(self.avg.parameters(), model.parameters()):
            a.mul_(self.decay).add_(p, alpha=1 - self.decay)
        for a, b in zip(self.avg.buffers(), model.buffers()):
            a.copy_(b)

    @contextlib.contextmanager
    def applied_to(self, model):
        kept = copy.deepcopy(model.state_dict())
        model.load_state_dict(self.avg.state_dict())
        was_training = model.training
        model.eval()
        try:
            yield model
        finally:
            model.load_state_dict(kept)
            model.train(was_training)


def data(n):
    x = torch.rand(n, 2) * 4 - 2
    return x, (x[:, 0].sin() * x[:, 1]).unsqueeze(1)


torch.manual_seed(66)
model = nn.Sequential(nn.Linear(2, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
averager = Averager(model, decay=0.97)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
x_test, y_test = data(400)

for step in range(200):
    x, y = data(32)
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    averager.update(model)
    if step % 50 == 49:
        with torch.no_grad(), averager.applied_to(model) as m:
            test = F.mse_loss(m(x_test), y_test).item()
        print(f"step {step + 1} train {loss.item():.4f} test with average {test:.4f}")
