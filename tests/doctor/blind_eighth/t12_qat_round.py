"""Quantisation-aware training of a small regressor: 4-bit weights in the forward pass."""
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)


@dataclass
class QConfig:
    bits: int = 4
    lr: float = 1e-2
    steps: int = 200


class FakeQuant(nn.Module):
    def __init__(self, bits):
        super().__init__()
        self.qmax = 2 ** (bits - 1) - 1

    def forward(self, w):
        scale = w.detach().abs().max() / self.qmax
        q = torch.clamp(torch.round(w / scale), -self.qmax, self.qmax)
        return q * scale


class QLinear(nn.Linear):
    def __init__(self, n_in, n_out, bits):
        super().__init__(n_in, n_out)
        self.quant = FakeQuant(bits)

    def forward(self, x):
        return F.linear(x, self.quant(self.weight), self.bias)


cfg = QConfig()
net = nn.Sequential(QLinear(8, 32, cfg.bits), nn.ReLU(), QLinear(32, 1, cfg.bits))
x = torch.randn(256, 8)
y = torch.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3]
start = net[0].weight.detach().clone()

opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
for step in range(cfg.steps):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0 or step == cfg.steps - 1:
        print(f"step {step:3d} mse {loss.item():.4f}")

moved = (net[0].weight - start).abs().max().item()
print(f"largest move of a first layer weight: {moved:.5f}")
