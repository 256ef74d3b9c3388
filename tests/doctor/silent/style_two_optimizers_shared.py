import torch
import torch.nn as nn
trunk, a, b = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
opt_a = torch.optim.SGD([*trunk.parameters(), *a.parameters()], lr=0.1)
opt_b = torch.optim.SGD([*trunk.parameters(), *b.parameters()], lr=0.1)
for _ in range(5):
    for opt, head in ((opt_a, a), (opt_b, b)):
        loss = head(torch.relu(trunk(torch.randn(5, 4)))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
