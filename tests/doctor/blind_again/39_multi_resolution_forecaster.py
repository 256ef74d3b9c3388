import torch
import torch.nn as nn
import torch.nn.functional as F


class Branch(nn.Module):
    def __init__(self, stride, width=12):
        super().__init__()
        self.stride = stride
        self.conv = nn.Conv1d(1, width, 5, padding=2)

    def forward(self, x):
        x = F.avg_pool1d(x, self.stride) if self.stride > 1 else x
        return F.relu(self.conv(x)).mean(-1)


class MultiResolution(nn.Module):
    def __init__(self, strides=(1, 2, 4), width=12):
        super().__init__()
        self.branches = [Branch(s, width) for s in strides]
        self.mix = nn.Linear(width * len(strides), 1)

    def forward(self, x):
        return self.mix(torch.cat([b(x) for b in self.branches], 1))


def series(n, length=48):
    t = torch.arange(length).float()
    period = 4 + 12 * torch.rand(n, 1)
    phase = 6.28 * torch.rand(n, 1)
    x = torch.sin(6.28 * t / period + phase) + 0.1 * torch.randn(n, length)
    return x.unsqueeze(1), period / 10


def train(model, steps=80):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        x, y = series(64)
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(15)
    model = MultiResolution()
    print("parameters", sum(p.numel() for p in model.parameters()), "loss", round(train(model), 4))
