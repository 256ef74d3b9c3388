import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 3 * dim)
        self.down = nn.Linear(3 * dim, dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(F.gelu(self.up(self.norm(x)))))


class DeepNet(nn.Module):
    def __init__(self, dim=24, depth=8, save_memory=True):
        super().__init__()
        self.save_memory = save_memory
        self.inp = nn.Linear(6, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        h = self.inp(x)
        for block in self.blocks:
            if self.save_memory and self.training:
                h = checkpoint(block, h, use_reentrant=False)
            else:
                h = block(h)
        return self.out(h).squeeze(-1)


def main():
    torch.manual_seed(26)
    net = DeepNet()
    x = torch.randn(200, 6)
    y = x[:, 0] * x[:, 1] + x[:, 2].sin()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    net.train()
    for step in range(60):
        idx = torch.randint(0, 200, (64,))
        loss = F.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    net.eval()
    with torch.no_grad():
        print(f"eval {F.mse_loss(net(x), y).item():.4f}")
    return net


net = main()
