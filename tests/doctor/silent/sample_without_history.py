import torch
import torch.nn as nn
from torch.distributions import Independent, Normal, kl_divergence
encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
prior = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
for step in range(4):
    x = torch.randn(10, 6)
    mean, log_deviation = encoder(x).chunk(2, 1)
    q = Independent(Normal(mean, log_deviation.exp()), 1)
    z = q.sample()  # broken-graph: keep-graph
    loss = (decoder(z) - x).pow(2).mean() + 0.1 * kl_divergence(q, prior.expand((10,))).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
