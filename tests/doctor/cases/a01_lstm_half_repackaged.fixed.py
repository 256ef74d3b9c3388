import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the lazy fox " * 4


class CharLM(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, tokens, state):
        out, state = self.lstm(self.embed(tokens), state)
        return self.head(out), state


class Trainer:
    def __init__(self, args, vocab):
        self.args = args
        self.model = CharLM(vocab, args.width)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)

    def repackage(self, state):
        h, c = state
        return h.detach(), c.detach()

    def run_epoch(self, batches):
        state = None
        total = 0.0
        for inputs, targets in batches:
            if state is not None:
                state = self.repackage(state)
            logits, state = self.model(inputs, state)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            total += loss.item()
        return total / len(batches)


def make_batches(text, alphabet, seq_len, batch_size):
    ids = torch.tensor([alphabet.index(ch) for ch in text])
    width = ids.numel() // batch_size
    ids = ids[: width * batch_size].view(batch_size, width)
    return [
        (ids[:, i : i + seq_len], ids[:, i + 1 : i + seq_len + 1])
        for i in range(0, width - seq_len - 1, seq_len)
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--seq-len", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-2)
    args = parser.parse_args()

    torch.manual_seed(1)
    alphabet = sorted(set(TEXT))
    trainer = Trainer(args, len(alphabet))
    batches = make_batches(TEXT, alphabet, args.seq_len, args.batch_size)
    for epoch in range(args.epochs):
        print(f"epoch {epoch}: loss {trainer.run_epoch(batches):.4f}")


if __name__ == "__main__":
    main()
