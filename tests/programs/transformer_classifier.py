"""nn.TransformerEncoder on token streams: IterableDataset, masks, checkpointing, parametrizations."""

import math
import warnings
from itertools import islice
from typing import Iterator

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, IterableDataset, default_collate

warnings.filterwarnings("ignore", message=".*nested tensor.*")


class Brackets(IterableDataset):
    """Endless strings of brackets, half of them balanced; workers would split the stream."""

    VOCABULARY = {"<pad>": 0, "<cls>": 1, "(": 2, ")": 3, "[": 4, "]": 5}

    def __init__(self, seed: int, longest: int = 12) -> None:
        self.seed, self.longest = seed, longest

    def _balanced(self, generator: torch.Generator, pairs: int) -> str:
        text, open_ = "", []
        while len(text) + len(open_) < 2 * pairs:
            if open_ and torch.rand((), generator=generator) < 0.5:
                text += open_.pop()
            else:
                kind = int(torch.randint(2, (), generator=generator))
                text += "(["[kind]
                open_.append(")]"[kind])
        return text + "".join(reversed(open_))

    def __iter__(self) -> Iterator[tuple[list[int], int]]:
        info = torch.utils.data.get_worker_info()
        offset, stride = (0, 1) if info is None else (info.id, info.num_workers)
        generator = torch.Generator().manual_seed(self.seed)

        def stream():
            while True:
                text = self._balanced(
                    generator,
                    int(torch.randint(1, self.longest // 2 + 1, (1,), generator=generator)),
                )
                label = 1
                if torch.rand(1, generator=generator).item() < 0.5:
                    where = torch.randint(0, len(text), (1,), generator=generator).item()
                    text, label = (
                        text[:where] + "])[("["([])".index(text[where])] + text[where + 1 :],
                        0,
                    )
                yield [1] + [self.VOCABULARY[c] for c in text], label

        return islice(stream(), offset, None, stride)


def collate(batch):
    tokens, labels = zip(*batch)
    padded = nn.utils.rnn.pad_sequence([torch.tensor(t) for t in tokens], batch_first=True)
    return padded, default_collate(labels)


class PositionalEncoding(nn.Module):
    pe: Tensor

    def __init__(self, width: int, length: int = 32):
        super().__init__()
        place = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(1000.0) / width))
        pe = torch.zeros(length, width)
        pe[:, 0::2] = torch.sin(place * rate)
        pe[:, 1::2] = torch.cos(place * rate)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[: x.size(1)]


class Classifier(nn.Module):
    def __init__(self, width: int = 32, recompute: bool = False):
        super().__init__()
        self.embed = nn.Sequential(nn.Embedding(6, width, padding_idx=0), PositionalEncoding(width))
        layer = nn.TransformerEncoderLayer(
            width,
            nhead=4,
            dim_feedforward=64,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.pool = nn.MultiheadAttention(width, 2, batch_first=True)
        self.query = nn.Parameter(torch.randn(1, 1, width) * 0.1)
        self.head = nn.Sequential(
            parametrizations.weight_norm(nn.Linear(width, 16)),
            nn.PReLU(16),
            parametrizations.spectral_norm(nn.Linear(16, 2)),
        )
        self.recompute = recompute

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        padding = tokens == 0
        x = self.embed(tokens)
        if self.recompute:
            for layer in self.encoder.layers:
                x = checkpoint(layer, x, src_key_padding_mask=padding, use_reentrant=False)
        else:
            x = self.encoder(x, src_key_padding_mask=padding)
        pooled, weights = self.pool(
            self.query.expand(len(x), -1, -1), x, x, key_padding_mask=padding
        )
        return self.head(pooled.squeeze(1)), weights.squeeze(1)


def train(recompute: bool) -> Classifier:
    torch.manual_seed(11)
    model = Classifier(recompute=recompute)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=20)
    loader = DataLoader(Brackets(seed=3), batch_size=24, collate_fn=collate)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.2]))
    total = right = 0.0
    for step, (tokens, labels) in enumerate(islice(loader, 60), start=1):
        logits, _ = model(tokens)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()
        right += (logits.argmax(-1) == labels).sum().item()
        if step % 15 == 0:
            print(
                f"recompute={recompute} step {step} loss {total / 15:.4f} right {right / 360:.3f}"
            )
            total = right = 0.0
    return model


kept, recomputed = train(False), train(True)
gap = max((a - b).abs().max().item() for a, b in zip(kept.parameters(), recomputed.parameters()))
print("recomputing changes nothing:", gap < 1e-5)
kept.eval()
with torch.no_grad():
    tokens, labels = next(iter(DataLoader(Brackets(seed=4), batch_size=6, collate_fn=collate)))
    logits, weights = kept(tokens)
print(logits.softmax(-1)[:, 1], labels)
print(
    "attention on padding",
    weights[tokens == 0].sum().item(),
    "entropy %.4f" % torch.special.entr(weights).sum(1).mean(),
)
print(kept.head)
print([name for name in kept.state_dict() if name.startswith("head.0")])
decoder = nn.TransformerDecoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
mask = nn.Transformer.generate_square_subsequent_mask(5)
memory = kept.embed(tokens).detach()
out = decoder(
    torch.ones(6, 5, 32),
    memory,
    tgt_mask=mask,
    memory_key_padding_mask=tokens == 0,
    tgt_is_causal=True,
)
print(mask.isinf().sum(1), out.shape, "%.4f" % out.std().item())
