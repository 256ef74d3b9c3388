import torch
import torch.nn as nn

torch.manual_seed(0)
VOCAB, LENGTH = 12, 10


class CopyTransformer(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, dim)
        self.places = nn.Parameter(torch.zeros(LENGTH, dim))
        layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, x):
        return self.out(self.encoder(self.tokens(x) + self.places))


def batch(n=16):
    x = torch.randint(0, VOCAB, (n, LENGTH))
    return x, x


model = CopyTransformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.2, total_iters=5)
criterion = nn.CrossEntropyLoss()

for it in range(30):
    x, y = batch()
    logits = model(x)
    loss = criterion(logits.transpose(1, 2), y)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    warmup.step()
    if it % 10 == 9:
        print(f"iteration {it}: loss {loss.item():.4f}")
