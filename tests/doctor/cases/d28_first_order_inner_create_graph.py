import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def sample_task():
    amplitude, phase = torch.rand(1) * 4 + 0.1, torch.rand(1) * 3.14
    x = torch.rand(20, 1) * 10 - 5
    return x, amplitude * torch.sin(x + phase)


class Reptile:
    """Meta-learning by moving towards the weights adapted to each task."""

    def __init__(self, inner_lr=0.02, outer_lr=0.1, inner_steps=3):
        self.net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
        self.inner_lr = inner_lr
        self.outer_lr = outer_lr
        self.inner_steps = inner_steps

    def adapt(self, x, y):
        fast = copy.deepcopy(self.net)
        params = list(fast.parameters())
        optimizer = torch.optim.SGD(params, lr=self.inner_lr)
        for _ in range(self.inner_steps):
            loss = F.mse_loss(fast(x), y)
            gradients = torch.autograd.grad(loss, params, create_graph=True)
            for p, g in zip(params, gradients):
                p.grad = g
            optimizer.step()
        return fast, loss.item()

    def meta_step(self):
        fast, loss = self.adapt(*sample_task())
        with torch.no_grad():
            for slow, new in zip(self.net.parameters(), fast.parameters()):
                slow += self.outer_lr * (new - slow)
        return loss


if __name__ == "__main__":
    torch.manual_seed(0)
    learner = Reptile()
    for iteration in range(4):
        print(iteration, round(learner.meta_step(), 4))
