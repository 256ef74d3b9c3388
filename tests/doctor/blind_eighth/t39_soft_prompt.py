"""Soft prompt tuning of a frozen language model stand-in."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(38)

VOCAB, DIM, PROMPT_LEN = 40, 32, 5


class FrozenLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.rnn = nn.GRU(DIM, DIM, batch_first=True)
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, embeds):
        h, _ = self.rnn(embeds)
        return self.head(h)


lm = FrozenLM()
for p in lm.parameters():
    p.requires_grad = False

prompt = torch.randn(PROMPT_LEN, DIM, requires_grad=True) * 0.02
optimizer = torch.optim.Adam([prompt], lr=5e-2)

tokens = torch.randint(0, VOCAB, (16, 9))
tokens[:, -1] = 3


def step(batch):
    inp, target = batch[:, :-1], batch[:, -1]
    embeds = torch.cat([prompt.unsqueeze(0).expand(len(batch), -1, -1), lm.emb(inp)], dim=1)
    logits = lm(embeds)[:, -1]
    return F.cross_entropy(logits, target)


for it in range(30):
    optimizer.zero_grad()
    loss = step(tokens)
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"iter {it} loss {loss.item():.4f}")
