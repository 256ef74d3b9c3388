"""Skip-gram with a full softmax over tied embeddings whose norm is bounded."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
corpus = ("a cat sat on the mat and a dog sat on the log while the cat saw the dog " * 20).split()
vocab = sorted(set(corpus))
index = {w: i for i, w in enumerate(vocab)}
ids = torch.tensor([index[w] for w in corpus])


def skipgrams(ids, window=2):
    centre, context = [], []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if j != i:
                centre.append(ids[i].item())
                context.append(ids[j].item())
    return torch.tensor(centre), torch.tensor(context)


class SkipGram(nn.Module):
    def __init__(self, n, dim=12):
        super().__init__()
        self.emb = nn.Embedding(n, dim, max_norm=1.0)
        self.mix = nn.Linear(dim, dim, bias=False)
        self.scale = nn.Parameter(torch.tensor(3.0))

    def forward(self, centre):
        keys = self.mix(self.emb.weight)
        query = self.emb(centre)
        return self.scale * query @ keys.t()


centre, context = skipgrams(ids)
model = SkipGram(len(vocab))
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(60):
    pick = torch.randint(0, len(centre), (128,))
    logits = model(centre[pick])
    loss = F.cross_entropy(logits, context[pick])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, f"{loss.item():.4f}")
