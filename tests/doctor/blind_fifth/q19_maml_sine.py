import torch
import torch.nn as nn
from torch.func import functional_call

torch.manual_seed(9)
torch.set_num_threads(1)


def sample_task():
    amp, phase = 0.5 + 2 * torch.rand(1), 3.14 * torch.rand(1)

    def draw(n):
        x = 10 * torch.rand(n, 1) - 5
        return x, amp * torch.sin(x + phase)

    return draw


class Meta:
    def __init__(self, net, inner_lr=0.02, inner_steps=2):
        self.net, self.inner_lr, self.inner_steps = net, inner_lr, inner_steps
        self.loss = nn.MSELoss()

    def adapt(self, x, y, second_order=True):
        fast = dict(self.net.named_parameters())
        for _ in range(self.inner_steps):
            loss = self.loss(functional_call(self.net, fast, (x,)), y)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=second_order)
            fast = {n: p - self.inner_lr * g for (n, p), g in zip(fast.items(), grads)}
        return fast

    def query_loss(self, task):
        fast = self.adapt(*task(10))
        xq, yq = task(10)
        return self.loss(functional_call(self.net, fast, (xq,)), yq)


net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
meta = Meta(net)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
running = []
for it in range(200):
    opt.zero_grad()
    total = 0.0
    for _ in range(4):
        loss = meta.query_loss(sample_task()) / 4
        loss.backward()
        total += loss.item()
    opt.step()
    running.append(total)
    if (it + 1) % 50 == 0:
        print(f"iter {it + 1} loss {sum(running[-50:]) / 50:.4f}")
