import torch
import torch.nn as nn
body, head = nn.Linear(6, 4), nn.Linear(4, 1)
body_opt = torch.optim.Adam(body.parameters())
head_opt = torch.optim.Adam(head.parameters())
for step in range(5):
    body_opt.zero_grad()
    head_opt.zero_grad()
    head(torch.relu(body(torch.randn(8, 6)))).pow(2).mean().backward()
    body_opt.step()
    if step > 100:
        head_opt.step()
