from __future__ import annotations

import math
from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .config import Config


class TanhGELU(nn.Module):
    """GELU by its tanh formula, spelled out as in the first papers."""

    def forward(self, x: Tensor) -> Tensor:
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x.pow(3))
        return 0.5 * x * (1 + inner.tanh())


class Attention(nn.Module):
    mask: Tensor

    def __init__(self, width: int, heads: int, length: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.ModuleDict(
            {name: nn.Linear(width, width) for name in ("q", "k", "v", "out")}
        )
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(length, length).triu(1).bool(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        b, t, _ = x.shape
        q, k, v = (self.project[n](x).unflatten(-1, (self.heads, -1)) for n in "qkv")
        scores = torch.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.size(-1))
        scores.masked_fill_(self.mask[:t, :t], torch.finfo(scores.dtype).min)
        weights = self.dropout(scores.softmax(-1))
        return self.project["out"](torch.einsum("bhij,bjhd->bihd", weights, v).flatten(2))


class Residual(nn.Module):
    def __init__(self, inner: nn.Module, width: int, dropout: float, norm_first: bool) -> None:
        super().__init__()
        self.inner, self.norm, self.dropout = inner, nn.LayerNorm(width), nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: Tensor) -> Tensor:
        if self.norm_first:
            return x + self.dropout(self.inner(self.norm(x)))
        return self.norm(x + self.dropout(self.inner(x)))


class Transformer(nn.Module):
    def __init__(self, config: Config, vocabulary: int, length: int) -> None:
        super().__init__()
        w, p = config.width, config.dropout
        self.length = length
        self.embed = nn.Embedding(vocabulary, w)
        self.position = nn.Parameter(torch.zeros(1, length, w))
        blocks = []
        for _ in range(config.depth):
            feed_forward = nn.Sequential(nn.Linear(w, 4 * w), TanhGELU(), nn.Linear(4 * w, w))
            for inner in (Attention(w, config.heads, length, p), feed_forward):
                blocks.append(Residual(inner, w, p, config.norm_first))
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Sequential(nn.LayerNorm(w), nn.Linear(w, vocabulary, bias=False))
        self.apply(self._initialise)

    def _initialise(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, 0.0, 0.02)

    def parameter_groups(self, decay: float) -> list[dict]:
        """Only the matrices of linear layers decay."""
        matrices = {id(m.weight) for m in self.modules() if isinstance(m, nn.Linear)}
        split: dict[bool, list[nn.Parameter]] = {True: [], False: []}
        for p in self.parameters():
            split[id(p) in matrices].append(p)
        return [
            {"params": split[True], "weight_decay": decay},
            {"params": split[False], "weight_decay": 0.0},
        ]

    def forward(self, tokens: Tensor, targets: Optional[Tensor] = None):
        x = self.embed(tokens) + self.position[:, : tokens.size(1)]
        logits = self.head(self.blocks(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=-100)

    @torch.inference_mode()
    def continue_(self, tokens: Tensor, count: int, temperature: Optional[float] = None) -> Tensor:
        for _ in range(count):
            logits = self(tokens[:, -self.length :])[:, -1]
            if temperature is None:
                following = logits.argmax(-1, keepdim=True)
            else:
                following = torch.distributions.Categorical(logits=logits / temperature).sample()[
                    :, None
                ]
            tokens = torch.cat([tokens, following], dim=1)
        return tokens
