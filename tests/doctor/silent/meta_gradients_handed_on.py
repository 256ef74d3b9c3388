# the same with the gradients of the copies handed on by hand; a target network is a copy too
import copy
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
head, unused = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
both = torch.nn.ModuleList([head, unused])
target = copy.deepcopy(both)
meta = torch.optim.Adam(model.parameters(), lr=1e-2)
opt = torch.optim.Adam(both.parameters(), lr=1e-2)
for iteration in range(4):
    learner = copy.deepcopy(model)
    inner = torch.optim.SGD(learner.parameters(), lr=0.1)
    x = torch.rand(16, 1)
    y = torch.sin(x)
    for part in (slice(0, 8), slice(8, 16)):
        loss = (learner(x[part]) - y[part]).pow(2).mean()
        inner.zero_grad()
        loss.backward()
        if part.start == 0:
            inner.step()
    for p, q in zip(model.parameters(), learner.parameters()):
        p.grad = q.grad
    meta.step()
    with torch.no_grad():
        aim = target[0](x) + target[1](x)
    opt.zero_grad()
    (head(x) - aim).pow(2).mean().backward()
    opt.step()
