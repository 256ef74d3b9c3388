import torch
import torch.nn as nn
q = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(q.parameters())
for step in range(6):
    s, s_next, reward = torch.randn(16, 4), torch.randn(16, 4), torch.randn(16)
    action = torch.randint(0, 2, (16, 1))
    chosen = q(s).gather(1, action).squeeze(1)
    target = reward + 0.9 * q(s_next).max(1).values  # target-with-gradient: detach
    loss = nn.functional.mse_loss(chosen, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
