import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(14)
torch.set_num_threads(1)


class MixerBlock(nn.Module):
    def __init__(self, dim, tokens):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.tok = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * tokens, tokens))
        self.chan = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.tok(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.chan(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, dim=24, tokens=8, depth=4, classes=4):
        super().__init__()
        self.embed = nn.Linear(6, dim)
        self.blocks = nn.ModuleList([MixerBlock(dim, tokens) for _ in range(depth)])
        self.tail = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, classes))

    def forward(self, x):
        x = self.embed(x)
        for blk in self.blocks:
            if self.training:
                x = checkpoint(blk, x, use_reentrant=False)
            else:
                x = blk(x)
        return checkpoint_sequential(self.tail, 2, x.mean(1), use_reentrant=False)


def patches(n):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 8, 6)
    x[torch.arange(n), y * 2] += 2.0
    return x, y


x, y = patches(256)
net = Mixer()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for epoch in range(15):
    net.train()
    running = 0.0
    for xb, yb in zip(x.split(64), y.split(64)):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(x).argmax(1) == y).float().mean().item()
    if epoch % 7 == 0:
        print(f"epoch {epoch} loss {running / 4:.4f} acc {acc:.3f}")
