import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(44)


class DualEncoder(nn.Module):
    def __init__(self, img_dim=20, txt_dim=14, dim=16):
        super().__init__()
        self.img = nn.Sequential(nn.Linear(img_dim, 32), nn.GELU(), nn.Linear(32, dim))
        self.txt = nn.Sequential(nn.Linear(txt_dim, 32), nn.GELU(), nn.Linear(32, dim))
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, img, txt):
        a = F.normalize(self.img(img), dim=-1)
        b = F.normalize(self.txt(txt), dim=-1)
        scale = self.logit_scale.exp().item()
        return scale * a @ b.t()


def pairs(n):
    concept = torch.randn(n, 6)
    img = torch.cat([concept, torch.sin(concept), torch.randn(n, 8)], dim=1)
    txt = torch.cat([concept.abs(), concept * 0.5, torch.randn(n, 2)], dim=1)
    return img, txt


def symmetric_loss(logits):
    labels = torch.arange(len(logits))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


model = DualEncoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
for step in range(120):
    img, txt = pairs(64)
    logits = model(img, txt)
    loss = symmetric_loss(logits)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        acc = (logits.argmax(1) == torch.arange(64)).float().mean().item()
        scale = model.logit_scale.detach().exp().item()
        print(f"step {step:3d} loss {loss.item():.4f} acc {acc:.3f} scale {scale:.3f}")
