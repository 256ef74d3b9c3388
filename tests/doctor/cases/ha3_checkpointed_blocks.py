import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(torch.nn.functional.gelu(self.up(self.norm(x)))))


class Deep(nn.Module):
    def __init__(self, dim=12, depth=6, use_checkpoint=True):
        super().__init__()
        self.inp = nn.Linear(4, dim)
        self.early = nn.Sequential(*[Block(dim) for _ in range(depth)])
        self.late = nn.ModuleList(Block(dim) for _ in range(2))
        self.out = nn.Linear(dim, 1)
        self.use_checkpoint = use_checkpoint

    def forward(self, x):
        x = self.inp(x)
        if self.use_checkpoint and self.training:
            x = checkpoint_sequential(self.early, 3, x, use_reentrant=False)
        else:
            x = self.early(x)
        for block in self.late:
            if self.use_checkpoint and self.training:
                x = checkpoint(block, x, use_reentrant=False, preserve_rng_state=True)
            else:
                x = block(x)
        return self.out(x).squeeze(-1)


def train(use_checkpoint):
    torch.manual_seed(0)
    model = Deep(use_checkpoint=use_checkpoint)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    data = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(8):
        x = torch.randn(32, 4, generator=data)
        loss = (model(x) - x.prod(dim=1)).pow(2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    kept, recomputed = train(False), train(True)
    print("with all activations ", [round(v, 4) for v in kept[::3]])
    print("with recomputation   ", [round(v, 4) for v in recomputed[::3]])
    print("same:", all(abs(a - b) < 1e-6 for a, b in zip(kept, recomputed)))
