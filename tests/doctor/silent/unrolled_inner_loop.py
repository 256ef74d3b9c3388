import torch
lr = torch.tensor(0.1, requires_grad=True)
outer = torch.optim.Adam([lr], lr=0.01)
for episode in range(3):
    w = torch.randn(4, requires_grad=True)
    x = torch.randn(8, 4)
    trace = []
    for k in range(10):
        loss = (x @ w - 1).pow(2).mean()
        (g,) = torch.autograd.grad(loss, w, create_graph=True)
        w = w - lr * g
        trace.append(loss)
    outer.zero_grad()
    sum(trace).backward()
    outer.step()
