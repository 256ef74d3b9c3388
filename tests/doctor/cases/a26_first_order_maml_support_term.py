import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


class SineTask:
    def __init__(self, gen):
        self.amplitude = 0.5 + 2 * torch.rand(1, generator=gen)
        self.phase = 3.14 * torch.rand(1, generator=gen)
        self.gen = gen

    def sample(self, n):
        x = 10 * torch.rand(n, 1, generator=self.gen) - 5
        return x, self.amplitude * torch.sin(x + self.phase)


class MetaLearner:
    def __init__(self, inner_lr=0.02, inner_steps=2, anchor=0.1):
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
        self.inner_lr, self.inner_steps, self.anchor = inner_lr, inner_steps, anchor
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)

    def loss_with(self, params, batch):
        x, y = batch
        return F.mse_loss(functional_call(self.net, params, (x,)), y)

    def adapt(self, batch):
        params = dict(self.net.named_parameters())
        first_loss = None
        for _ in range(self.inner_steps):
            loss = self.loss_with(params, batch)
            first_loss = loss if first_loss is None else first_loss
            grads = torch.autograd.grad(loss, list(params.values()))
            params = {name: p - self.inner_lr * g for (name, p), g in zip(params.items(), grads)}
        return params, first_loss

    def meta_step(self, tasks):
        total = 0.0
        for task in tasks:
            params, before = self.adapt(task.sample(10))
            after = self.loss_with(params, task.sample(10))
            total = total + after + self.anchor * before
        total = total / len(tasks)
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        return total.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    learner = MetaLearner()
    for it in range(12):
        value = learner.meta_step([SineTask(gen) for _ in range(4)])
        if it % 4 == 3:
            print(it, round(value, 4))
