import torch
import torch.nn as nn
import torch.nn.functional as F


class FakeQuant(nn.Module):
    def __init__(self, bits=4, momentum=0.1):
        super().__init__()
        self.levels = 2 ** (bits - 1) - 1
        self.momentum = momentum
        self.register_buffer("peak", torch.tensor(1.0))

    def forward(self, x):
        if self.training:
            self.peak += self.momentum * (x.detach().abs().max() - self.peak)
        scale = (self.peak / self.levels).clone()
        with torch.no_grad():
            q = torch.round(x / scale).clamp(-self.levels, self.levels) * scale
        return x + (q - x).detach()


class QuantLinear(nn.Linear):
    def __init__(self, *args):
        super().__init__(*args)
        self.qw, self.qx = FakeQuant(), FakeQuant(8)

    def forward(self, x):
        return F.linear(self.qx(x), self.qw(self.weight), self.bias)


def main():
    torch.manual_seed(7)
    net = nn.Sequential(QuantLinear(5, 32), nn.ReLU(), QuantLinear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(100):
        x = torch.rand(64, 5)
        y = (x[:, 0] - x[:, 1] * x[:, 2]).unsqueeze(1)
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("mse", round(loss.item(), 5))


main()
