import torch
import torch.nn as nn
q = nn.Linear(4, 2)
opt = torch.optim.Adam(q.parameters())
for step in range(6):
    s, s_next, reward = torch.randn(16, 4), torch.randn(16, 4), torch.randn(16)
    target = reward + 0.9 * q(s_next).max(1).values.detach()
    loss = nn.functional.mse_loss(q(s).max(1).values, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
