from torch import nn


class ImageTower(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.proj = nn.Linear(8 * 4 * 4, dim)

    def forward(self, images):
        return self.proj(self.conv(images).relu().flatten(1))


class TextTower(nn.Module):
    def __init__(self, vocab=128, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, tokens):
        mask = (tokens != 0).float().unsqueeze(-1)
        pooled = (self.embed(tokens) * mask).sum(1) / mask.sum(1)
        return self.mlp(pooled)
