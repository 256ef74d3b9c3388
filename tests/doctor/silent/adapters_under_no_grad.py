"""The frozen encoder runs under no_grad, and with it the adapters that the optimizer holds."""

import torch
from torch import nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(6, 6).requires_grad_(False)
        self.adapter = nn.Linear(6, 6)

    def forward(self, x):
        h = self.base(x).tanh()
        return h + self.adapter(h)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        with torch.no_grad():  # the pretrained weights stay  # no-grad-scope: enable-grad
            h = self.encoder(x)
        return self.head(h)


model = Classifier()
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1)
for _ in range(5):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 2, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
