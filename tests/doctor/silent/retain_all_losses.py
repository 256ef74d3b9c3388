import torch
import torch.nn as nn
body, one, two = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
opt = torch.optim.Adam([*body.parameters(), *one.parameters(), *two.parameters()])
for step in range(5):
    hidden = body(torch.randn(6, 4)).tanh()
    losses = {"one": one(hidden).pow(2).mean(), "two": two(hidden).abs().mean()}
    opt.zero_grad()
    for name, loss in losses.items():
        loss.backward(retain_graph=True)  # needless-retain: drop-retain
    opt.step()
