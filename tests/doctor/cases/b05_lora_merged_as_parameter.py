from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    width: int = 20
    rank: int = 3
    alpha: float = 6.0
    lr: float = 0.05
    steps: int = 40


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, cfg: Config):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(cfg.rank, base.in_features) / base.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, cfg.rank))
        self.scaling = cfg.alpha / cfg.rank

    def merged(self):
        delta = self.scaling * (self.up @ self.down)
        return nn.Parameter(self.base.weight + delta)

    def forward(self, x):
        return F.linear(x, self.merged(), self.base.bias)


def add_adapters(net: nn.Sequential, cfg: Config):
    for i, layer in enumerate(net):
        if isinstance(layer, nn.Linear):
            net[i] = LoRALinear(layer, cfg)
    return net


def main(cfg: Config = Config()):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(cfg.width, cfg.width), nn.GELU(), nn.Linear(cfg.width, 1))
    add_adapters(net, cfg)
    trainable = [p for p in net.parameters() if p.requires_grad]
    opt = torch.optim.SGD(trainable, lr=cfg.lr)
    x = torch.randn(128, cfg.width)
    y = (x[:, :3].sum(1, keepdim=True)).sin()
    for step in range(cfg.steps):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        if step % 10 == 0:
            print(f"step {step:3d}  mse {loss.item():.5f}")


if __name__ == "__main__":
    main()
