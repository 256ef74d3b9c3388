# GRU encoder decoder, adds two numbers written as digit strings
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
PAD, PLUS, BOS = 10, 11, 12
VOCAB = 13


class Seq2Seq(nn.Module):
    def __init__(self, emb=16, hidden=64):
        super().__init__()
        self.embed_src = nn.Embedding(VOCAB, emb)
        self.embed_tgt = nn.Embedding(VOCAB, emb)
        self.encoder = nn.GRU(emb, hidden, batch_first=True)
        self.decoder = nn.GRU(emb, hidden, batch_first=True)
        self.out = nn.Linear(hidden, VOCAB)

    @torch.no_grad()
    def encode(self, src):
        """Final state of the encoder, also used for retrieval at test time."""
        _, h = self.encoder(self.embed_src(src))
        return h

    def forward(self, src, tgt_in):
        h = self.encode(src)
        y, _ = self.decoder(self.embed_tgt(tgt_in), h)
        return self.out(y)


def digits(n, width):
    return torch.stack([(n // 10 ** k) % 10 for k in range(width)], dim=1)


def batch(size=64):
    a, b = torch.randint(0, 50, (2, size))
    src = torch.cat([digits(a, 2), torch.full((size, 1), PLUS), digits(b, 2)], 1)
    tgt = digits(a + b, 2)
    tgt_in = torch.cat([torch.full((size, 1), BOS), tgt[:, :-1]], 1)
    return src, tgt_in, tgt


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
curve = []
for step in range(150):
    src, tgt_in, tgt = batch()
    logits = model(src, tgt_in)
    loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    curve.append(loss.item())
    if step % 50 == 49:
        print(f"step {step + 1} loss {sum(curve[-20:]) / 20:.3f}")
