import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(77)


class Mixer(nn.Module):
    def __init__(self, tokens=6, dim=16, n_cls=4):
        super().__init__()
        self.inp = nn.Linear(5, dim)
        self.tok = nn.Linear(tokens, tokens)
        self.chan = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.head = nn.Linear(dim, n_cls)

    def forward(self, x):
        h = self.inp(x)
        h = h + self.tok(self.norm1(h).transpose(1, 2)).transpose(1, 2)
        h = h + self.chan(self.norm2(h))
        return self.head(h.mean(1))


class AmpTrainer:
    def __init__(self, model, lr=0.2, clip=1.0):
        self.model, self.clip = model, clip
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 14)

    def step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(self.model(x), y)
        self.scaler.scale(loss).backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.item(), norm.item()

    @torch.no_grad()
    def evaluate(self, x, y):
        self.model.eval()
        acc = (self.model(x).argmax(1) == y).float().mean().item()
        self.model.train()
        return acc


proj = torch.randn(5, 4)


def batch(n=64):
    x = torch.randn(n, 6, 5)
    return x, (x.mean(1) @ proj).argmax(1)


trainer = AmpTrainer(Mixer())
val = batch(300)
for step in range(100):
    loss, norm = trainer.step(*batch())
    if step % 25 == 0:
        print(f"step {step} loss {loss:.3f} acc {trainer.evaluate(*val):.3f} grad norm {norm:.1f}")
