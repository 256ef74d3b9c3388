import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
NODES, CLASSES = 24, 3


def ring_with_chords(n):
    adj = torch.zeros(n, n)
    for i in range(n):
        for j in (i + 1, i + 7):
            adj[i, j % n] = adj[j % n, i] = 1.0
    return adj


def normalise(adj):
    adj = adj + torch.eye(len(adj))
    scale = adj.sum(1).rsqrt()
    return scale[:, None] * adj * scale[None, :]


class GCNLayer(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.lin = nn.Linear(in_dim, out_dim)

    def forward(self, a_hat, h):
        return self.lin(a_hat @ h)


class GCN(nn.Module):
    def __init__(self, in_dim):
        super().__init__()
        self.edge_logits = nn.Parameter(torch.zeros(NODES, NODES))
        self.first = GCNLayer(in_dim, 16)
        self.second = GCNLayer(16, CLASSES)

    def edge_weights(self, adj):
        symmetric = 0.5 * (self.edge_logits + self.edge_logits.t())
        return adj * torch.sigmoid(symmetric)

    def forward(self, a_hat, x):
        return self.second(a_hat, F.relu(self.first(a_hat, x)))


adj = ring_with_chords(NODES)
features = torch.randn(NODES, 6)
labels = (adj @ features[:, :CLASSES]).argmax(1)
train_mask = torch.arange(NODES) % 3 != 0

model = GCN(in_dim=6)
opt = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=1e-4)
a_hat = normalise(model.edge_weights(adj))

for epoch in range(30):
    opt.zero_grad()
    logits = model(a_hat, features)
    loss = F.cross_entropy(logits[train_mask], labels[train_mask])
    loss.backward()
    opt.step()
    if epoch % 10 == 9:
        hit = (logits.argmax(1) == labels)[~train_mask].float().mean()
        print(f"epoch {epoch} loss {loss.item():.4f} test acc {hit.item():.2f}")
