"""Fit a curve: features from a small network, LBFGS for all the weights."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class FeatureNet(nn.Module):
    def __init__(self, k=12):
        super().__init__()
        self.hidden = nn.Linear(1, k)
        self.mix = nn.Linear(k, k)

    def forward(self, x):
        return torch.sin(self.mix(torch.tanh(self.hidden(x))))


x = torch.linspace(-2, 2, 80).unsqueeze(1)
y = torch.exp(-x ** 2) * torch.cos(4 * x)

features = FeatureNet()
readout = nn.Linear(12, 1)
params = list(features.parameters()) + list(readout.parameters())
opt = torch.optim.LBFGS(params, lr=0.5, max_iter=10, line_search_fn="strong_wolfe")
mse = nn.MSELoss()

for outer in range(8):
    phi = features(x)

    def closure():
        opt.zero_grad()
        loss = mse(readout(phi), y)
        loss.backward()
        return loss

    loss = opt.step(closure)
    print(f"outer {outer} loss {loss.item():.5f}")

with torch.no_grad():
    print("final", mse(readout(features(x)), y).item())
