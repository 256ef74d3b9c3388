import torch
import torch.nn as nn
body, a, b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 2)
opt = torch.optim.Adam([*body.parameters(), *a.parameters(), *b.parameters()])
for i in range(4):
    h = torch.relu(body(torch.randn(5, 4)))
    watched = b(h).detach().numpy()
    print(watched.mean(), b(h).mean().item())
    goal = torch.tensor([[1.0]] * 5)
    loss = (a(h) - goal).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
