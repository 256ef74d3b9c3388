import torch
import torch.nn as nn
torch.manual_seed(0)
actor, critic = nn.Linear(3, 1), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
a_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
c_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
for _ in range(6):
    s, a, r = torch.randn(8, 3), torch.randn(8, 1), torch.randn(8, 1)
    c_opt.zero_grad()
    a_opt.zero_grad()
    c_loss = (critic(torch.cat([s, a], 1)) - r).abs().mean()
    c_loss.backward()
    value = critic(torch.cat([s, actor(s)], 1))
    ((value - 1).pow(2).mean()).backward()
    a_opt.step()
    c_opt.step()
