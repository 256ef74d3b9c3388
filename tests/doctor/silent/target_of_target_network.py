import copy
import torch
import torch.nn as nn
q = nn.Linear(4, 2)
target_q = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters())
for step in range(6):
    s, s_next, reward = torch.randn(16, 4), torch.randn(16, 4), torch.randn(16)
    chosen = q(s).max(1).values
    target = reward + 0.9 * target_q(s_next).max(1).values
    loss = nn.functional.mse_loss(chosen, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
