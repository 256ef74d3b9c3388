import torch
import torch.nn as nn
class Tuned(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body, self.head = body, nn.Linear(8, 1)
    def forward(self, x):
        with torch.no_grad():  # no-grad-scope: enable-grad
            h = self.body(x)
        return self.head(torch.relu(h))
def train(model, steps=5):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        opt.zero_grad()
        model(torch.randn(6, 4)).pow(2).mean().backward()
        opt.step()
body = nn.Linear(4, 8)
train(body)
model = Tuned(body)
body.requires_grad_(False)
train(model)
body.requires_grad_(True)
train(model)
