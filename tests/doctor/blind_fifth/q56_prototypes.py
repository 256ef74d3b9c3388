import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(81)
torch.set_num_threads(1)

CLASSES, DIM = 4, 16


class PrototypeNet(nn.Module):
    def __init__(self, d_in=12, momentum=0.9):
        super().__init__()
        self.proj = nn.Linear(d_in, DIM)
        self.momentum = momentum
        self.prototypes = 0.1 * torch.randn(CLASSES, DIM)

    def forward(self, x, y):
        z = torch.tanh(self.proj(x))
        onehot = F.one_hot(y, CLASSES).float()
        means = onehot.t() @ z / onehot.sum(0).clamp(min=1)[:, None]
        self.prototypes = self.momentum * self.prototypes + (1 - self.momentum) * means
        dist = (z[:, None] - self.prototypes[None]).pow(2).sum(-1)
        return -dist


def sample(n=64):
    y = torch.randint(0, CLASSES, (n,))
    return CENTERS[y] + 0.7 * torch.randn(n, 12), y


CENTERS = torch.randn(CLASSES, 12)
model = PrototypeNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

tic = time.time()
for it in range(200):
    x, y = sample()
    logits = model(x, y)
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    if it % 50 == 49:
        print(f"iter {it} loss {loss.item():.4f} seconds {time.time() - tic:.2f}")
        tic = time.time()
