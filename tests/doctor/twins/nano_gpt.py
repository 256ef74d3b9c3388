"""A trainer with micro steps, the next batch fetched before the backward, a scaler that is off."""

import math
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1337)
DATA = torch.randint(0, 12, (400,))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.attend(self.norm_1(x)).split(c, dim=2)
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.norm_2(x))


class GPT(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.tokens, self.places = nn.Embedding(12, width), nn.Embedding(8, width)
        self.blocks = nn.ModuleList([Block(width, 2) for _ in range(2)])
        self.head = nn.Linear(width, 12, bias=False)
        self.tokens.weight = self.head.weight

    def forward(self, idx, targets):
        x = self.tokens(idx) + self.places(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        return logits, F.cross_entropy(logits.view(-1, 12), targets.view(-1))

    def configure_optimizers(self):
        decayed = [p for p in self.parameters() if p.dim() >= 2]
        plain = [p for p in self.parameters() if p.dim() < 2]
        groups = [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))


class Trainer:
    def __init__(self):
        self.model, self.context = GPT(), nullcontext()
        self.scaler = torch.amp.GradScaler("cpu", enabled=False)
        self.optimizer = self.model.configure_optimizers()
        self.best = 1e9

    def get_batch(self):
        starts = torch.randint(len(DATA) - 8, (4,))
        x = torch.stack([DATA[i : i + 8] for i in starts])
        return x, torch.stack([DATA[i + 1 : i + 9] for i in starts])

    @torch.no_grad()
    def estimate_loss(self):
        self.model.eval()
        losses = torch.zeros(3)
        for k in range(3):
            _, loss = self.model(*self.get_batch())
            losses[k] = loss.item()
        self.model.train()
        return losses.mean()

    def train(self):
        X, Y = self.get_batch()
        for iteration in range(16):
            rate = 1e-4 + 0.5 * (1 + math.cos(math.pi * iteration / 16)) * 9e-4
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            if iteration % 5 == 0:
                found = self.estimate_loss()
                if found < self.best:
                    self.best = found
            for _ in range(2):
                with self.context:
                    _, loss = self.model(X, Y)
                    loss = loss / 2
                X, Y = self.get_batch()
                self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad(set_to_none=True)
            if iteration % 5 == 0:
                print(iteration, loss.item() * 2)


Trainer().train()
