import torch
import torch.nn as nn
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
difficulty = torch.ones(20)
scores = torch.zeros(20)
for step in range(12):
    index = torch.multinomial(difficulty, 5)
    losses = net(torch.randn(5, 4)).pow(2).squeeze(1)
    opt.zero_grad()
    losses.mean().backward()
    opt.step()
    with torch.no_grad():
        difficulty[index] = losses
    scores[index] = losses
    scores.detach_()
