import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
o = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
for _ in range(5):
    x = torch.randn(5, 6)
    mu, logvar = enc(x).chunk(2, 1)
    z = torch.normal(mu, (0.5 * logvar).exp())  # broken-graph: keep-graph
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    loss = F.mse_loss(dec(z), x) + 0.1 * kl
    o.zero_grad()
    loss.backward()
    o.step()
