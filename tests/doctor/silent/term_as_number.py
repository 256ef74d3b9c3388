"""The entropy joins the loss as a number."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Linear(5, 3)
opt = torch.optim.Adam(actor.parameters(), 1e-2)
for _ in range(15):
    s = torch.randn(32, 5)
    d = Categorical(logits=actor(s))
    a = d.sample()
    adv = torch.randn(32)
    entropy = d.entropy().mean()
    loss = -(d.log_prob(a) * adv).mean() - 0.01 * entropy.item()  # broken-graph: keep-graph
    opt.zero_grad()
    loss.backward()
    opt.step()
