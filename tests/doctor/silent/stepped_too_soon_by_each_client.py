import torch
import torch.nn as nn


def train(rows, targets):
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        opt.zero_grad()
        loss = (model(rows) - targets).pow(2).mean()
        opt.step()  # zero-grad-misuse: reorder-step
        loss.backward()
    return model


clients = [train(torch.randn(6, 4), torch.randn(6, 1)) for _ in range(3)]
