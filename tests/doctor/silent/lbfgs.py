import torch
import torch.nn as nn
net = nn.Linear(4, 1)
x, y = torch.randn(20, 4), torch.randn(20, 1)
opt = torch.optim.LBFGS(net.parameters(), max_iter=5)
def closure():
    opt.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    return loss
for _ in range(4):
    opt.step(closure)
