import torch
import torch.nn as nn
import torch.nn.functional as F
encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
codes = nn.Parameter(torch.randn(8, 4))
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), codes])
for step in range(4):
    x = torch.randn(10, 6)
    z = encoder(x)
    q = codes[torch.cdist(z.detach(), codes.detach()).argmin(1)]
    commit = F.mse_loss(z, q.detach()) + F.mse_loss(q, z.detach())
    q = z + (q - z)  # broken-graph: detach
    loss = F.mse_loss(decoder(q), x) + commit
    opt.zero_grad()
    loss.backward()
    opt.step()
