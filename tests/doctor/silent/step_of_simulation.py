import torch
import torch.nn as nn
flow = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(flow.parameters())
for step in range(6):
    x = torch.randn(16, 2)
    after = x + 0.1 * flow(x)
    back = flow(after)
    loss = nn.functional.mse_loss(back, after)
    opt.zero_grad()
    loss.backward()
    opt.step()
