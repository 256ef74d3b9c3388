"""A small GPT, written out: causal attention, blocks, weight tying, AdamW with two groups.

It learns to continue sums such as "27+35=62" written as characters.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F

CHARACTERS = "0123456789+=."


@dataclass
class Config:
    context: int = 9
    vocabulary: int = len(CHARACTERS)
    layers: int = 2
    heads: int = 4
    width: int = 48


class SelfAttention(nn.Module):
    """Every place looks at the places before it."""

    def __init__(self, config: Config):
        super().__init__()
        self.heads = config.heads
        self.all_three = nn.Linear(config.width, 3 * config.width)
        self.output = nn.Linear(config.width, config.width)
        mask = torch.tril(torch.ones(config.context, config.context))
        self.register_buffer("mask", mask.view(1, 1, config.context, config.context))

    def forward(self, x):
        batch, time, width = x.size()
        q, k, v = self.all_three(x).split(width, dim=2)
        q, k, v = (
            t.view(batch, time, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v)
        )
        weights = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        weights = weights.masked_fill(self.mask[:, :, :time, :time] == 0, float("-inf"))
        mixed = F.softmax(weights, dim=-1) @ v
        return self.output(mixed.transpose(1, 2).contiguous().view(batch, time, width))


class Block(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width)
        self.attention = SelfAttention(config)
        self.norm2 = nn.LayerNorm(config.width)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, 4 * config.width),
            nn.GELU(),
            nn.Linear(4 * config.width, config.width),
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width)
        self.places = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        self.apply(self._initialise)

    def _initialise(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens, targets=None):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.size(1)))
        for block in self.blocks:
            x = block(x)
        scores = self.head(self.norm(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(
                scores.view(-1, scores.size(-1)), targets.view(-1), ignore_index=-1
            )
        return scores, loss

    @torch.no_grad()
    def generate(self, tokens, count):
        for _ in range(count):
            scores, _ = self(tokens[:, -self.config.context :])
            tokens = torch.cat([tokens, scores[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
        return tokens


def sums(count: int) -> torch.Tensor:
    """Lines such as 27+35=062. as numbers, one per character."""
    pairs = torch.randint(0, 50, (count, 2)).tolist()
    lines = [f"{a:02d}+{b:02d}={a + b:03d}."[:10] for a, b in pairs]
    return torch.tensor([[CHARACTERS.index(c) for c in line] for line in lines])


def main() -> None:
    torch.manual_seed(10)
    model = GPT(Config())
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=3e-3,
        betas=(0.9, 0.95),
    )
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    for step in range(1, 61):
        lines = sums(32)
        inputs, targets = lines[:, :-1], lines[:, 1:].clone()
        targets[:, :5] = -1  # only what follows "=" has to be learned
        _, loss = model(inputs, targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 12 == 0:
            print(f"step {step:2d}  loss {loss.item():.4f}")
    question = torch.tensor([[CHARACTERS.index(c) for c in "12+30="]])
    said = model.eval().generate(question, 4)[0].tolist()
    print("".join(CHARACTERS[token] for token in said))


if __name__ == "__main__":
    main()
