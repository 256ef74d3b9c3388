# healthy: two sums of the same losses with other factors, for other parameters
import torch
import torch.nn as nn
trunk, label, domain = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
opt = torch.optim.Adam([*trunk.parameters(), *label.parameters(), *domain.parameters()])
for step in range(5):
    h = torch.tanh(trunk(torch.randn(6, 4)))
    label_loss, domain_loss = (label(h) - 1).pow(2).mean(), (domain(h) + 1).pow(2).mean()
    opt.zero_grad()
    (label_loss - 0.5 * domain_loss).backward(retain_graph=True)
    (1.5 * domain_loss).backward()
    opt.step()
