import torch
import torch.nn as nn
model = nn.ModuleDict({"encoder": nn.Linear(4, 8), "head": nn.Linear(8, 1)})
model["encoder"].requires_grad_(False)
for phase in range(2):
    opt = torch.optim.Adam(model.parameters())
    for step in range(3):
        opt.zero_grad()
        model["head"](torch.tanh(model["encoder"](torch.randn(6, 4)))).pow(2).mean().backward()
        opt.step()
    encoder = model["encoder"]
    encoder.requires_grad = True  # broken-graph: enable-grad
