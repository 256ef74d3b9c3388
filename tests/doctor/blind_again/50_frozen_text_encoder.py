import torch
import torch.nn as nn
import torch.nn.functional as F


class TextEncoder(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, ids):
        return self.rnn(self.emb(ids))[1].squeeze(0)


class ImageEncoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.fc = nn.Linear(8 * 16, dim)

    def forward(self, img):
        return self.fc(F.relu(self.conv(img)).flatten(1))


class LockedImageTuning(nn.Module):
    """LiT: the text side is kept as it was pretrained, only the image side learns."""

    def __init__(self, text, image):
        super().__init__()
        self.text, self.image = text, image
        for module in self.text.children():
            module.requires_grad = False
        self.log_temp = nn.Parameter(torch.tensor(1.0))

    def forward(self, img, ids):
        t = F.normalize(self.text(ids), dim=-1)
        v = F.normalize(self.image(img), dim=-1)
        return self.log_temp.exp() * v @ t.T


def captions(n):
    y = torch.randint(0, 10, (n,))
    ids = torch.stack([y, y + 10, y + 20], 1)
    grid = torch.zeros(n, 1, 8, 8)
    grid[torch.arange(n), 0, y % 8, y // 2] = 3.0
    return grid + 0.1 * torch.randn_like(grid), ids


def main():
    torch.manual_seed(48)
    text = TextEncoder()
    before = torch.cat([p.detach().flatten().clone() for p in text.parameters()])
    model = LockedImageTuning(text, ImageEncoder())
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    for step in range(50):
        logits = model(*captions(16))
        target = torch.arange(16)
        loss = 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target))
        opt.zero_grad()
        loss.backward()
        opt.step()
    after = torch.cat([p.detach().flatten() for p in text.parameters()])
    print(f"loss {loss.item():.3f} text encoder moved by {(after - before).norm():.4f}")


main()
