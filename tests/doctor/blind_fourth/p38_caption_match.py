"""CLIP-like matching of synthetic pictures and captions."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(26)
torch.set_num_threads(1)


class Tower(nn.Module):
    def __init__(self, inp, dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inp, 48), nn.GELU(), nn.Linear(48, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class Matcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.picture = Tower(20)
        self.caption = Tower(12)
        self.log_scale = nn.Parameter(torch.tensor(math.log(5.0)))

    def forward(self, pictures, captions):
        scale = self.log_scale.exp().clamp(max=100).item()
        return scale * self.picture(pictures) @ self.caption(captions).t()


mix_p, mix_c = torch.randn(6, 20), torch.randn(6, 12)


def pairs(n):
    meaning = torch.randn(n, 6)
    return (meaning @ mix_p + 0.1 * torch.randn(n, 20), meaning @ mix_c + 0.1 * torch.randn(n, 12))


model = Matcher()
optimizer = torch.optim.AdamW([
    {"params": [p for n, p in model.named_parameters() if n != "log_scale"], "weight_decay": 0.01},
    {"params": [model.log_scale], "weight_decay": 0.0},
], lr=5e-3)

for step in range(120):
    logits = model(*pairs(48))
    target = torch.arange(48)
    loss = 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        hit = (logits.argmax(1) == target).float().mean().item()
        print(f"{step + 1} loss {loss.item():.3f} hit {hit:.2f} scale {model.log_scale.exp().item():.2f}")
