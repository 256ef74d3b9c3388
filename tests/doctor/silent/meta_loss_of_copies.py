# the learner is a copy: its loss does not reach the parameters that `meta` holds
import copy
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
meta = torch.optim.Adam(model.parameters(), lr=1e-2)
for iteration in range(4):
    meta.zero_grad()
    total = 0.0
    for task in range(2):
        learner = copy.deepcopy(model)  # broken-graph: keep-graph
        inner = torch.optim.SGD(learner.parameters(), lr=0.1)
        x = torch.rand(16, 1)
        y = torch.sin(x + task)
        loss = (learner(x[:8]) - y[:8]).pow(2).mean()
        inner.zero_grad()
        loss.backward()
        inner.step()
        total = total + (learner(x[8:]) - y[8:]).pow(2).mean()
    total.backward()
    meta.step()
