from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    epochs: int = 4
    micro_batch: int = 4
    accumulate: int = 4
    lr: float = 3e-3
    seed: int = 31


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv3d(1, 6, 3, padding=1)
        self.mid = nn.Conv3d(6, 6, 3, padding=1)
        self.out = nn.Conv3d(6, 1, 1)

    def forward(self, vol):
        h = F.relu(self.down(vol))
        h = h + F.relu(self.mid(h))
        return self.out(h)


def volumes(n):
    vol = torch.randn(n, 1, 6, 6, 6)
    mask = (F.avg_pool3d(vol, 3, stride=1, padding=1) > 0.1).float()
    return vol, mask


def run(cfg):
    torch.manual_seed(cfg.seed)
    vol, mask = volumes(64)
    model = Segmenter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        chunks = torch.randperm(len(vol)).split(cfg.micro_batch)
        for i, idx in enumerate(chunks):
            optimizer.zero_grad()
            logits = model(vol[idx])
            loss = F.binary_cross_entropy_with_logits(logits, mask[idx])
            (loss / cfg.accumulate).backward()
            # volumes are large: step once per `accumulate` micro batches
            if (i + 1) % cfg.accumulate == 0:
                optimizer.step()
        print(f"epoch {epoch} last loss {loss.item():.4f}")
    return model


if __name__ == "__main__":
    run(Config())
