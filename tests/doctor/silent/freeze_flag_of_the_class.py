import torch
import torch.nn as nn
class Features(nn.Module):
    def __init__(self, requires_grad=True):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.requires_grad = requires_grad
    def forward(self, x):
        with torch.set_grad_enabled(self.requires_grad):
            return self.layers(x)
first, second, head = Features(False), Features(), nn.Linear(8, 1)
second.requires_grad = False
second.requires_grad = True
opt = torch.optim.Adam([*second.parameters(), *head.parameters()])
for step in range(4):
    opt.zero_grad()
    x = torch.randn(6, 4)
    head(first(x) + second(x)).pow(2).mean().backward()
    opt.step()
