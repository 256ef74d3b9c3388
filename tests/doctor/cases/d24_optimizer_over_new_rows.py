import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class LanguageModel(nn.Module):
    def __init__(self, vocab, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, tokens):
        hidden, _ = self.rnn(self.embed(tokens))
        return hidden @ self.embed.weight.t()


def extend(model, extra):
    old = model.embed.weight.data
    rows = old.mean(0, keepdim=True).repeat(extra, 1)
    model.embed = nn.Embedding.from_pretrained(torch.cat([old, rows]), freeze=False)
    return model


def tune_new_tokens(model, first_new, args):
    for p in model.rnn.parameters():
        p.requires_grad_(False)
    new_rows = model.embed.weight[first_new:]
    optimizer = torch.optim.Adam([new_rows], lr=args.lr)
    for step in range(args.steps):
        tokens = torch.randint(first_new - 4, first_new + 3, (8, 10))
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, f"{loss.item():.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=4)
    args = parser.parse_args([])
    torch.manual_seed(0)
    model = extend(LanguageModel(vocab=40), extra=3)
    tune_new_tokens(model, 40, args)


if __name__ == "__main__":
    main()
