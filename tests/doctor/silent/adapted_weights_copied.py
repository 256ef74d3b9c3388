"""The adapted weights are copied into the network: the learned rate of the inner step gets nothing."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
rate = nn.Parameter(torch.tensor(0.05))
opt = torch.optim.SGD([*net.parameters(), rate], lr=0.01)


def inner_step(x):
    names, weights = zip(*net.named_parameters())
    grads = torch.autograd.grad(F.mse_loss(net(x), x[:, :1]), weights, create_graph=True)
    return {name: w - rate * g for name, w, g in zip(names, weights, grads)}


for _ in range(6):
    adapted = inner_step(torch.randn(8, 3))
    net.load_state_dict(adapted)  # broken-graph: keep-graph
    x = torch.randn(8, 3)
    opt.zero_grad()
    F.mse_loss(net(x), x[:, :1]).backward()
    opt.step()
