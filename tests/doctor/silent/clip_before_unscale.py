import torch
import torch.nn as nn
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for step in range(4):
    opt.zero_grad()
    scaler.scale(model(torch.randn(6, 4)).pow(2).mean()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # clipped-before-unscale: unscale-first
    scaler.step(opt)
    scaler.update()
