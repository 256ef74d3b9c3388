import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, VOCAB = 0, 40


class TiedEncoder(nn.Module):
    """Bag-of-words encoder whose embedding also scores the words."""

    def __init__(self, vocab, dim):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab, dim) * 0.1)
        self.mix = nn.Linear(dim, dim)
        self.reset_padding()

    @torch.no_grad()
    def reset_padding(self):
        self.table[PAD] = 0.0

    def forward(self, tokens):
        mask = (tokens != PAD).unsqueeze(-1)
        words = F.embedding(tokens, self.table)
        mean = (words * mask).sum(1) / mask.sum(1).clamp(min=1)
        return torch.tanh(self.mix(mean)) @ self.table.t()


def documents(n, gen, length=7):
    topic = torch.randint(0, 4, (n, 1), generator=gen)
    tokens = 1 + topic * 9 + torch.randint(0, 9, (n, length), generator=gen)
    lengths = torch.randint(3, length + 1, (n, 1), generator=gen)
    inputs = tokens.masked_fill(torch.arange(length) >= lengths, PAD)
    return inputs, 1 + topic.squeeze(1) * 9


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(8)
    model = TiedEncoder(VOCAB, 12)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for step in range(30):
        tokens, target = documents(24, gen)
        loss = F.cross_entropy(model(tokens), target)
        optimizer.zero_grad()
        loss.backward()
        model.table.grad[PAD] = 0.0
        optimizer.step()
        if step % 10 == 9:
            print(step, round(loss.item(), 4), model.table[PAD].abs().sum().item())


if __name__ == "__main__":
    main()
