import torch
import torch.nn as nn
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)


def train(kept):
    model[1].register_forward_hook(lambda module, args, out: kept.append(out.detach().mean()))
    opt.zero_grad()
    model(torch.randn(6, 4)).pow(2).mean().backward()
    opt.step()


for step in range(5):
    train([])  # repeated-hook: register-once
