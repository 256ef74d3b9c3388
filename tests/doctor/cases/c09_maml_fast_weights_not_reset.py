import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(4)


class SineTask:
    def __init__(self, gen):
        self.amp = torch.rand(1, generator=gen) * 4 + 0.5
        self.phase = torch.rand(1, generator=gen) * 3
        self.gen = gen

    def sample(self, k):
        x = torch.rand(k, 1, generator=self.gen) * 10 - 5
        return x, self.amp * torch.sin(x + self.phase)


class MetaLearner:
    def __init__(self, inner_lr=0.02, inner_steps=2):
        self.net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
        self.inner_lr, self.inner_steps = inner_lr, inner_steps
        self.meta_opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.fast = dict(self.net.named_parameters())

    def predict(self, x):
        return functional_call(self.net, self.fast, (x,))

    def adapt(self, task):
        for _ in range(self.inner_steps):
            x, y = task.sample(5)
            loss = F.mse_loss(self.predict(x), y)
            grads = torch.autograd.grad(loss, self.fast.values(), create_graph=True)
            self.fast = {
                name: w - self.inner_lr * g for (name, w), g in zip(self.fast.items(), grads)
            }

    def meta_step(self, task):
        self.adapt(task)
        x, y = task.sample(10)
        query_loss = F.mse_loss(self.predict(x), y)
        self.meta_opt.zero_grad()
        query_loss.backward()
        self.meta_opt.step()
        return query_loss.item()


gen = torch.Generator().manual_seed(0)
learner = MetaLearner()
for it in range(4):
    print(it, round(learner.meta_step(SineTask(gen)), 4))
