# healthy: several hooks of one line at once, hooks that are removed, hooks of results
import torch
import torch.nn as nn
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for scale in (0.5, 0.9, 1.1, 1.0):
    model[0].weight.register_hook(lambda g, scale=scale: g * scale)
for step in range(5):
    handle = model[1].register_forward_hook(lambda module, args, out: None)
    out = model(torch.randn(6, 4))
    out.register_hook(lambda g: g.clamp(-1, 1))
    opt.zero_grad()
    out.pow(2).mean().backward()
    handle.remove()
    opt.step()
