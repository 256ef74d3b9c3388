"""The condition of the freezing is the wrong way around."""

import torch
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.backbone(x))


model = Classifier()
for name, param in model.named_parameters():
    if not name.startswith("backbone."):
        param.requires_grad = False  # stale-optimizer-params: enable-grad
optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-3)
x = torch.randn(40, 8)
y = (x.sum(1) > 0).long()
for epoch in range(10):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
