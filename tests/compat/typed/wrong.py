"""Mistakes: a type checker has something to say about each marked line, and about no other."""

# ruff: noqa

from __future__ import annotations

import retrograd as torch
import retrograd.nn.functional as F
from retrograd import nn

t = torch.zeros(3)
net = nn.Linear(3, 4)

# names that are not there
torch.zeroes(3)  # wrong
t.foo()  # wrong
t.shap  # wrong
F.reluu(t)  # wrong
nn.Liner(3, 4)  # wrong
torch.optim.Adamm(net.parameters())  # wrong
torch.linalg.sdv(t)  # wrong
torch.fft.fftt(t)  # wrong
torch.special.erff(t)  # wrong
torch.autograd.gradd(t, t)  # wrong
torch.utils.chekpoint  # wrong
torch.utils.data.Loader(t)  # wrong
torch.sparse.mmm(t, t)  # wrong

# results
x: int = t.sum()  # wrong
y: float = t.mean()  # wrong
z: str = t.size(0)  # wrong
n: int = t.shape  # wrong
a, b, c = t.max(0)  # wrong
d, e = torch.linalg.svd(t)  # wrong
f, g, h = F.max_pool2d(t, 2, return_indices=True)  # wrong
t.topk(2).value  # wrong
t.backward().item()  # wrong
t.tolist().mean()  # wrong
i: torch.Tensor = t.grad  # wrong

# arguments
nn.Linear("3", 4)  # wrong
nn.Linear(3)  # wrong
nn.Dropout(p="a")  # wrong
torch.optim.Adam(lr=0.1)  # wrong
torch.optim.Adam(net.parameters(), lr="a")  # wrong
torch.optim.SGD(net.parameters(), learning_rate=0.1)  # wrong
torch.optim.SGD(0.1)  # wrong
torch.zeros(3, dtyp=torch.float32)  # wrong
torch.zeros("3")  # wrong
torch.randn(3, dtype="float32")  # wrong
torch.relu(3)  # wrong
torch.add(t, "a")  # wrong
torch.cat(t, t)  # wrong
torch.arange("a")  # wrong
t + "a"  # wrong
t @ 3  # wrong
t.sum(dims=0)  # wrong
t.view("a")  # wrong
t.reshape(2.5)  # wrong
t.transpose(0)  # wrong
t.to(3.5)  # wrong
t.size("a")  # wrong
t.backward(1, 2, 3, 4, 5)  # wrong
t.requires_grad_("yes", 3)  # wrong
F.softmax(t, axis=1)  # wrong
F.cross_entropy(t)  # wrong
F.conv2d(t, t, stride="a")  # wrong
torch.manual_seed()  # wrong
torch.distributions.Normal(scale=1.0)  # wrong
torch.autograd.grad(t)  # wrong
