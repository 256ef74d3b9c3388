"""Sequence tagger with mixed precision and gradient clipping."""
import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast

torch.manual_seed(0)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CONFIG = {"lr": 0.5, "clip": 1.0, "epochs": 6, "batch": 32, "hidden": 32}


class Tagger(nn.Module):
    def __init__(self, vocab=15, hidden=32, tags=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden)
        self.conv = nn.Conv1d(hidden, hidden, 3, padding=1)
        self.fc = nn.Linear(hidden, tags)

    def forward(self, x):
        h = self.emb(x).transpose(1, 2)
        h = torch.relu(self.conv(h)).transpose(1, 2)
        return self.fc(h)


def corpus(n=320, t=12):
    x = torch.randint(0, 15, (n, t))
    prev = torch.cat([torch.zeros(n, 1, dtype=torch.long), x[:, :-1]], 1)
    return x, (x + prev) % 3 * (x > 4).long()


def train():
    model = Tagger(hidden=CONFIG["hidden"]).to(DEVICE)
    opt = torch.optim.SGD(model.parameters(), lr=CONFIG["lr"])
    scaler = GradScaler(DEVICE)
    crit = nn.CrossEntropyLoss()
    x, y = corpus()
    curve = []
    for epoch in range(CONFIG["epochs"]):
        total = 0.0
        for idx in torch.randperm(len(x)).split(CONFIG["batch"]):
            xb, yb = x[idx].to(DEVICE), y[idx].to(DEVICE)
            opt.zero_grad()
            with autocast(DEVICE, dtype=torch.bfloat16):
                loss = crit(model(xb).flatten(0, 1), yb.flatten())
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), CONFIG["clip"])
            scaler.step(opt)
            scaler.update()
            total += loss.item() * len(idx)
        curve.append(total / len(x))
        print(f"epoch {epoch} loss {curve[-1]:.4f}")
    return curve


curve = train()
