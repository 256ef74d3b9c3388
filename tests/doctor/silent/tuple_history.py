import torch
import torch.nn as nn
def run(steps):
    net = nn.Linear(4, 1)
    opt = torch.optim.Adam(net.parameters())
    history = []
    for n in range(steps):
        pred = net(torch.randn(5, 4))
        loss = pred.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append((n, loss.item(), pred))  # accumulated-history: detach
    return history
run(10)
