import torch
import torch.nn as nn
net = nn.Linear(4, 3)
opt = torch.optim.Adam(net.parameters())
for _ in range(4):
    x, y = torch.randn(5, 4), torch.randint(0, 3, (5,))
    guess = net(x).argmax(1)  # broken-graph: keep-graph
    loss = (guess != y).float().mean()
    loss.requires_grad = True
    opt.zero_grad()
    loss.backward()
    opt.step()
