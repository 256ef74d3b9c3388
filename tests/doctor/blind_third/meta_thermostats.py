import torch
import torch.nn as nn
from torch.func import functional_call

torch.manual_seed(83)


class Thermostat(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 20)
        self.b = nn.Linear(20, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


def room():
    leak, power = torch.rand(2) + 0.5

    def sample(n):
        x = torch.randn(n, 2)
        return x, power * x[:, :1] - leak * x[:, 1:].tanh()

    return sample


class Maml:
    def __init__(self, net, inner_lr=0.1, inner_steps=2):
        self.net = net
        self.inner_lr = inner_lr
        self.inner_steps = inner_steps
        self.opt = torch.optim.Adam(net.parameters(), lr=1e-2)

    def loss(self, weights, x, y):
        return nn.functional.mse_loss(functional_call(self.net, weights, (x,)), y)

    def adapt(self, x, y):
        weights = dict(self.net.named_parameters())
        for _ in range(self.inner_steps):
            loss = self.loss(weights, x, y)
            grads = torch.autograd.grad(loss, weights.values(), create_graph=True)
            weights = {k: w - self.inner_lr * g for (k, w), g in zip(weights.items(), grads)}
        return weights

    def meta_step(self, rooms):
        query = []
        for sample in rooms:
            adapted = self.adapt(*sample(8))
            query.append(self.loss(adapted, *sample(16)))
        total = torch.stack(query).mean()
        self.opt.zero_grad()
        total.backward()
        self.opt.step()
        return total.item()


maml = Maml(Thermostat())
for step in range(80):
    value = maml.meta_step([room() for _ in range(4)])
    if step % 20 == 0:
        print(f"step {step} query loss {value:.4f}")
print(f"final query loss {value:.4f}")
