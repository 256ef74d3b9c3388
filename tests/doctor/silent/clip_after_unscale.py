# healthy: first divided, then clipped; and a scaler that is switched off
import torch
import torch.nn as nn
models = [nn.Linear(4, 1), nn.Linear(4, 1)]
opts = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
off = torch.amp.GradScaler("cpu", enabled=False)
for step in range(4):
    for model, opt, each in zip(models, opts, (scaler, off)):
        opt.zero_grad()
        each.scale(model(torch.randn(6, 4)).pow(2).mean()).backward()
        if each is scaler:
            each.unscale_(opt)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        each.step(opt)
        each.update()
