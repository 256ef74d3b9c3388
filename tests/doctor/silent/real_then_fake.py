"""The critic's two losses go back one after the other; the inputs' gradient is looked at."""
import torch
import torch.nn as nn
maker, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(critic.parameters(), lr=0.1)
lengths = []
def on_real(real):
    real.requires_grad_()
    critic(real).mean().neg().backward()
    return real.grad.norm(dim=1).mean()
def on_fake(noise):
    critic(maker(noise).detach()).mean().backward()
for _ in range(6):
    opt.zero_grad()
    lengths.append(on_real(torch.randn(6, 4)))
    on_fake(torch.randn(6, 2))
    opt.step()
