import torch
import torch.nn as nn
critic = nn.Linear(4, 1)
opt = torch.optim.Adam(critic.parameters())
for step in range(6):
    s, s2, r, done = torch.randn(9, 4), torch.randn(9, 4), torch.randn(9), torch.zeros(9)
    value, following = critic(s).squeeze(-1), critic(s2).squeeze(-1)
    td_return = r + 0.99 * (1 - done) * following  # target-with-gradient: detach
    loss = 0.5 * (td_return - value).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
