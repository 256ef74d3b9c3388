import torch
import torch.nn as nn


def train(net, batches):
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(3):
        losses = []
        for x in batches:
            opt.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            opt.step()
            losses.append(loss)  # accumulated-history: item-for-logging
        print(sum(map(float, losses)) / len(losses))


train(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), torch.randn(3, 5, 4))
