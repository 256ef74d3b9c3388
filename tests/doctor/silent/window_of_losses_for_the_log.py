from collections import deque
import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
recent = deque(maxlen=20)
for step in range(40):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    recent.append(loss.sqrt())  # accumulated-history: detach
    if step % 20 == 19:
        print((sum(recent) / len(recent)).item())
