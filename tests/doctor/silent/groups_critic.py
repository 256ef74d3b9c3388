"""A critic gets gradients in the step of the generator; each has its optimizer with groups."""
import torch
import torch.nn as nn
def groups(net):
    return [
        {"params": [p for p in net.parameters() if p.dim() > 1], "weight_decay": 0.01},
        {"params": [p for p in net.parameters() if p.dim() < 2]},
    ]
maker = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))
critic = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
frozen = nn.Linear(4, 1)
opt = torch.optim.SGD(groups(maker), lr=0.1)
other = torch.optim.SGD(groups(critic), lr=0.1)
for _ in range(6):
    fake = maker(torch.randn(6, 2))
    opt.zero_grad()
    (critic(fake).mean() + frozen(fake).mean()).backward()
    opt.step()
    other.zero_grad()
    (critic(torch.randn(6, 4)).mean() - critic(fake.detach()).mean()).backward()
    other.step()
