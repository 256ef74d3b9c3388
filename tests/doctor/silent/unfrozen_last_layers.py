import torch
import torch.nn as nn
class Tuned(nn.Module):
    def __init__(self, low, high):
        super().__init__()
        self.low, self.high, self.head = low, high, nn.Linear(8, 1)
        self.low.eval()
    def forward(self, x):
        with torch.no_grad():
            h = self.low(x)
        return self.head(torch.relu(self.high(h)))
def train(model, parameters, steps=5):
    opt = torch.optim.Adam(parameters, lr=1e-2)
    for _ in range(steps):
        opt.zero_grad()
        model(torch.randn(6, 4)).pow(2).mean().backward()
        opt.step()
low, high = nn.Linear(4, 8), nn.Linear(8, 8)
train(nn.Sequential(low, high), [*low.parameters(), *high.parameters()])
model = Tuned(low, high)
high.requires_grad_(False)
train(model, [p for p in model.parameters() if p.requires_grad])
high.requires_grad_(True)
train(model, [*high.parameters(), *model.head.parameters()])
