import torch
import torch.nn as nn
gate, net = nn.Linear(4, 1), nn.Linear(4, 1)
opt_a = torch.optim.Adam(gate.parameters())
opt_b = torch.optim.Adam(net.parameters())
for _ in range(4):
    x = torch.randn(5, 4)
    mask = (torch.sigmoid(gate(x)) > 0.5).float()  # broken-graph: keep-graph
    loss = (mask * net(x)).pow(2).mean()
    opt_a.zero_grad(); opt_b.zero_grad()
    loss.backward()
    opt_a.step(); opt_b.step()
