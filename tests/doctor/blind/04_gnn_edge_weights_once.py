import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
N = 40
labels = (torch.arange(N) >= N // 2).long()
feats = torch.randn(N, 6) + labels[:, None] * 0.7
prob = torch.where(labels[:, None] == labels[None, :], 0.25, 0.05)
edges = (torch.rand(N, N) < prob).float()
edges = ((edges + edges.t()) > 0).float()
train_mask = torch.rand(N) < 0.4


class EdgeGate(nn.Module):
    """Learns how much to trust every edge."""

    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(2 * dim, 1)

    def forward(self, x, adj):
        n = x.size(0)
        pairs = torch.cat([x[:, None].expand(n, n, -1), x[None].expand(n, n, -1)], -1)
        gate = torch.sigmoid(self.score(pairs).squeeze(-1))
        a = adj * gate + torch.eye(n)
        deg = a.sum(1).clamp(min=1e-6)
        return a / deg[:, None]


class GCN(nn.Module):
    def __init__(self, d_in, hid, n_cls):
        super().__init__()
        self.l1 = nn.Linear(d_in, hid)
        self.l2 = nn.Linear(hid, n_cls)
        self.drop = nn.Dropout(0.2)

    def forward(self, x, a):
        h = F.relu(a @ self.l1(x))
        return a @ self.l2(self.drop(h))


gate, gcn = EdgeGate(6), GCN(6, 16, 2)
params = list(gate.parameters()) + list(gcn.parameters())
opt = torch.optim.Adam(params, lr=2e-2, weight_decay=1e-3)

# normalised adjacency, same graph for every epoch
A = gate(feats, edges)

for epoch in range(60):
    gcn.train()
    out = gcn(feats, A)
    loss = F.cross_entropy(out[train_mask], labels[train_mask])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 20 == 0:
        gcn.eval()
        with torch.no_grad():
            acc = (gcn(feats, A).argmax(1) == labels)[~train_mask].float().mean()
        print(f"epoch {epoch} loss {loss.item():.3f} test acc {acc.item():.2f}")
