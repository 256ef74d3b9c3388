import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
names = [n for n, _ in net.named_parameters()]
fast = list(net.parameters())
for k in range(10):
    x = torch.randn(6, 3)
    out = torch.func.functional_call(net, dict(zip(names, fast)), (x,))
    loss = (out - 1).pow(2).mean()
    grads = torch.autograd.grad(loss, fast)
    fast = [w - 0.1 * g for w, g in zip(fast, grads)]
