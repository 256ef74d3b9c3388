import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(61)
torch.set_num_threads(1)


class TextEncoder(nn.Module):
    def __init__(self, vocab=50, dim=24):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.mid = nn.Linear(dim, dim)
        self.last = nn.Linear(dim, dim)

    def lower(self, ids):
        return torch.tanh(self.mid(self.emb(ids)))

    def forward(self, ids):
        return torch.tanh(self.last(self.lower(ids)))


ids = torch.randint(0, 50, (240, 12))
topic = (ids < 20).sum(1).ge(5).long() + (ids > 40).sum(1).ge(3).long()

encoder = TextEncoder().eval()
encoder.requires_grad_(False)
probe = nn.Linear(24, 3)
optimizer = torch.optim.Adam(probe.parameters(), lr=2e-2)

# stage 1: linear probe on cached embeddings
with torch.no_grad():
    cached = encoder(ids)
for epoch in range(40):
    loss = F.cross_entropy(probe(cached), topic)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("probe", round(loss.item(), 4))

# stage 2: also train the encoder's last layer, still on cached lower features
encoder.last.requires_grad_(True)
optimizer.add_param_group({"params": encoder.last.parameters(), "lr": 2e-2})
with torch.no_grad():
    lower = encoder.lower(ids)
for epoch in range(120):
    loss = F.cross_entropy(probe(torch.tanh(encoder.last(lower))), topic)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 40 == 39:
        print(epoch + 1, round(loss.item(), 4))

with torch.no_grad():
    print("accuracy", (probe(encoder(ids)).argmax(1) == topic).float().mean().item())
