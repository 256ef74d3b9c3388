import torch
import torch.nn as nn
value = nn.Linear(4, 1)
opt = torch.optim.Adam(value.parameters())
# Baird's residual gradient: the Bellman error itself is made small
for step in range(6):
    s, s_next, reward = torch.randn(16, 4), torch.randn(16, 4), torch.randn(16, 1)
    def residual_gradient_loss():
        target = reward + 0.9 * value(s_next)
        return (target - value(s)).pow(2).mean()
    loss = residual_gradient_loss()
    opt.zero_grad()
    loss.backward()
    opt.step()
