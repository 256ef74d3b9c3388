import torch
import torch.nn as nn
update = nn.Linear(6, 3)
opt = torch.optim.Adam(update.parameters())
for step in range(6):
    frames, target = torch.randn(4, 5, 3), torch.randn(5, 3)
    flow, losses = torch.zeros(5, 3), []
    for frame in frames:
        flow = flow.detach()
        flow = flow + update(torch.cat([frame, flow], 1))
        losses.append((flow - target).abs().mean())
    opt.zero_grad()
    torch.stack(losses).sum().backward()
    opt.step()
