import torch
import torch.nn as nn
encoder, head = nn.Linear(4, 3), nn.Linear(3, 1)
opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
memory = torch.zeros(3)
for step in range(5):
    h = torch.tanh(encoder(torch.randn(6, 4)))
    loss = (head(h) - 1).pow(2).mean() + (h - memory).pow(2).mean()
    memory = 0.9 * memory + 0.1 * h.mean(0).detach()
    opt.zero_grad()
    loss = torch.tensor(loss, requires_grad=True)  # broken-graph: keep-graph
    loss.backward()
    opt.step()
