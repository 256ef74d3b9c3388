import torch
import torch.nn as nn
enc, dec = nn.Linear(4, 3), nn.Linear(3, 4)
opt_e = torch.optim.Adam(enc.parameters())
opt_d = torch.optim.Adam(dec.parameters())
def encode(x):
    torch.set_grad_enabled(False)  # no-grad-scope: enable-grad
    z = enc(x)
    torch.set_grad_enabled(True)
    return z
for _ in range(4):
    x = torch.randn(5, 4)
    loss = (dec(encode(x)) - x).pow(2).mean()
    opt_e.zero_grad(); opt_d.zero_grad()
    loss.backward()
    opt_e.step(); opt_d.step()
