import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(59)
torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(F.gelu(self.up(self.norm(x)))))


class Encoder(nn.Module):
    def __init__(self, inp, dim, depth, out):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.inp = nn.Linear(inp, dim)
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.out = nn.Linear(dim, out)

    def forward(self, x):
        self.calls += 1
        x = self.inp(x)
        for block in self.blocks:
            if self.training:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return self.out(x)


x = torch.randn(200, 10)
y = torch.stack([x[:, :5].prod(dim=1).tanh(), x[:, 5:].sum(dim=1).sin()], dim=1)
model = Encoder(10, 32, depth=4, out=2)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=80)

for step in range(80):
    model.train()
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 20 == 19:
        model.eval()
        with torch.no_grad():
            print(step + 1, f"{loss.item():.4f}", f"{F.mse_loss(model(x), y).item():.4f}")
print("forward calls", model.calls.item())
