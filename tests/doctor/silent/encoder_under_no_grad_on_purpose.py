"""A pretrained encoder runs under no_grad as a whole; what is frozen by flag is another part."""

import torch
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(6, 6).requires_grad_(False)
        self.encoder = nn.Sequential(nn.Linear(6, 6), nn.Tanh())
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        with torch.no_grad():  # pretrained
            h = self.encoder(self.embed(x))
        return self.head(h)


model = Classifier()
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1)
for _ in range(5):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 2, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
