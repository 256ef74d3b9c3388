import contextlib
import torch
import torch.nn as nn
import torch.nn.functional as F


def amp(enabled):
    return torch.autocast("cpu", dtype=torch.bfloat16) if enabled else contextlib.nullcontext()


class PatchClassifier(nn.Module):
    def __init__(self, patches=9, dim=12, classes=4):
        super().__init__()
        self.embed = nn.Linear(dim, 24)
        self.pos = nn.Parameter(torch.zeros(patches, 24))
        self.attn = nn.MultiheadAttention(24, 2, batch_first=True)
        self.head = nn.Linear(24, classes)

    def forward(self, x):
        h = self.embed(x) + self.pos
        h = h + self.attn(h, h, h, need_weights=False)[0]
        return self.head(h.mean(1))


class ImportanceWeighter:
    """Batches with a long gradient at the head count more."""

    def __init__(self, layer, momentum=0.9):
        self.layer, self.momentum, self.average = layer, momentum, None

    def weight(self, loss):
        (g,) = torch.autograd.grad(loss, [self.layer.weight], retain_graph=True)
        length = g.float().norm().item()
        if self.average is None:
            self.average = length
        self.average = self.momentum * self.average + (1 - self.momentum) * length
        return length / self.average


def batches(n):
    g = torch.Generator().manual_seed(12)
    for _ in range(n):
        x = torch.randn(8, 9, 12, generator=g)
        yield x, x.mean(1)[:, :4].argmax(1)


def main(use_amp=True):
    torch.manual_seed(0)
    model = PatchClassifier()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    weighter = ImportanceWeighter(model.head)
    for i, (x, y) in enumerate(batches(4)):
        with amp(use_amp):
            loss = F.cross_entropy(model(x), y)
        scale = weighter.weight(loss)
        opt.zero_grad()
        (scale * loss).backward()
        opt.step()
        print(i, f"{loss.item():.3f} x{scale:.3f}")


if __name__ == "__main__":
    main()
