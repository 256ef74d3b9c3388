import torch
import torch.nn as nn
body, head = nn.Linear(4, 8), nn.Linear(8, 2)
model = nn.ModuleDict({"body": body, "head": head})
opt = torch.optim.Adam(model.parameters())
def train(steps):
    for _ in range(steps):
        opt.zero_grad()
        model["head"](torch.tanh(model["body"](torch.randn(6, 4)))).pow(2).mean().backward()
        opt.step()
train(62)
model["head"] = nn.Linear(8, 4)  # stale-optimizer-params: rebuild-optimizer
train(62)
