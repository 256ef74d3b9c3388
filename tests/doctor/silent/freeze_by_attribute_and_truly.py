import torch
import torch.nn as nn
encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
encoder.requires_grad = False
encoder.requires_grad_(False)
opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
for step in range(4):
    opt.zero_grad()
    head(torch.tanh(encoder(torch.randn(6, 4)))).pow(2).mean().backward()
    opt.step()
