import torch
import torch.nn as nn
emb, net = nn.Embedding(5, 4), nn.Linear(4, 1)
opt = torch.optim.Adam([*emb.parameters(), *net.parameters()])
def ahead(n):
    waiting = []
    for i in range(n):
        waiting.append(torch.randint(0, 5, (6,)))
        if len(waiting) > 2:
            yield waiting.pop(0)
    yield from waiting
for t in ahead(10):
    loss = net(emb(t)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
