"""The second loss takes the place of the first."""

import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8, 8)
        self.a = nn.Linear(8, 2)
        self.b = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.relu(self.enc(x))
        return self.a(h), self.b(h)


m = Model()
opt = torch.optim.Adam(m.parameters(), 1e-3)
x, ya, yb = torch.randn(32, 8), torch.randint(0, 2, (32,)), torch.randn(32, 1)
for _ in range(10):
    oa, ob = m(x)
    loss = nn.functional.cross_entropy(oa, ya)
    loss = nn.functional.mse_loss(ob, yb)  # dropped-losses: combine-losses
    opt.zero_grad()
    loss.backward()
    opt.step()
