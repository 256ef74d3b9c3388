import copy
import torch
import torch.nn as nn
net = nn.Linear(4, 1)
outer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    outer.zero_grad()
    for task in range(2):
        fast = copy.deepcopy(net)
        inner = torch.optim.SGD(fast.parameters(), lr=0.1)
        for _ in range(2):
            loss = fast(torch.randn(5, 4)).pow(2).mean()
            inner.zero_grad(); loss.backward(); inner.step()
        q = fast(torch.randn(5, 4)).pow(2).mean()
        grads = torch.autograd.grad(q, fast.parameters())
        for p, g in zip(net.parameters(), grads):
            p.grad = g.clone() if p.grad is None else p.grad + g
    outer.step()
