import argparse
import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Parity(Dataset):
    def __init__(self, size, bits=6, seed=0):
        gen = torch.Generator().manual_seed(seed)
        self.x = torch.randint(0, 2, (size, bits), generator=gen)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.x[i, :3].sum() % 2


class Mixer(nn.Module):
    def __init__(self, bits=6, dim=16):
        super().__init__()
        self.emb = nn.Embedding(2 * bits, dim)
        self.register_buffer("offsets", torch.arange(bits) * 2, persistent=False)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        h = self.emb(x + self.offsets)
        a, _ = self.attn(h, h, h, need_weights=False)
        return self.head((h + a).mean(1))


def run(args):
    torch.manual_seed(args.seed)
    model = Mixer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(Parity(90), batch_size=args.micro, num_workers=0)
    amp = torch.autocast("cpu", torch.bfloat16) if args.amp else contextlib.nullcontext()
    for epoch in range(args.epochs):
        running = torch.zeros(())
        optimizer.zero_grad()
        for i, (x, y) in enumerate(loader, start=1):
            with amp:
                loss = F.cross_entropy(model(x), y) / args.accumulate
            loss.backward()
            running += loss.detach() * args.accumulate
            if i % args.accumulate == 0 or i == len(loader):
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        print(epoch, round((running / len(loader)).item(), 3))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--micro", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-amp", dest="amp", action="store_false")
    run(parser.parse_args())
