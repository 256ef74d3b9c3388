import torch
import torch.nn as nn
enc, head = nn.Linear(4, 3), nn.Linear(3, 1)
opt1 = torch.optim.Adam(enc.parameters())
for _ in range(3):
    loss = enc(torch.randn(5, 4)).pow(2).mean()
    opt1.zero_grad(); loss.backward(); opt1.step()
opt2 = torch.optim.Adam([*enc.parameters(), *head.parameters()])
for _ in range(3):
    loss = head(enc(torch.randn(5, 4)).detach()).pow(2).mean()
    opt2.zero_grad(); loss.backward(); opt2.step()
