import numpy as np
import torch
import torch.nn as nn
enc, dec = nn.Linear(4, 3), nn.Linear(3, 4)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
for _ in range(4):
    x = torch.randn(5, 4)
    z = enc(x).detach().numpy()  # broken-graph: keep-graph
    z = torch.from_numpy(np.clip(z, -1, 1))
    loss = (dec(z) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
