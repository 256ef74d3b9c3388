import torch
import torch.nn as nn
G = nn.Linear(2, 3)
D = nn.Linear(3, 1)
opt_g = torch.optim.SGD(G.parameters(), lr=0.01)
opt_d = torch.optim.SGD(D.parameters(), lr=0.01)
for step in range(5):
    fake = G(torch.randn(4, 2))
    opt_d.zero_grad()
    (D(fake.detach()).mean() - D(torch.randn(4, 3)).mean()).backward()
    opt_d.step()
    opt_d.zero_grad()  # zero-grad-misuse: zero-grad
    (-D(fake).mean()).backward()
    opt_g.step()
