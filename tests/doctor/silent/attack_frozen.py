import torch
import torch.nn as nn
import torch.nn.functional as F
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def attack(x, y):
    net.requires_grad_(False)
    x = x.clone().requires_grad_()
    F.cross_entropy(net(x), y).backward()
    net.requires_grad_(True)
    return (x + 0.1 * x.grad.sign()).detach()
def attack_inputs(x, y):
    x = x.clone().requires_grad_()
    F.cross_entropy(net(x), y).backward(inputs=[x])
    return (x + 0.1 * x.grad.sign()).detach()
for step in range(6):
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    opt.zero_grad()
    F.cross_entropy(net(attack_inputs(attack(x, y), y)), y).backward()
    opt.step()
