import torch
import torch.nn as nn
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = [(torch.randn(6, 4), torch.randint(0, 2, (6,))) for _ in range(4)]
for epoch in range(4):
    total = 0
    for x, y in data:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        total += loss  # accumulated-history: item-for-logging
    print(epoch, total / len(data))
