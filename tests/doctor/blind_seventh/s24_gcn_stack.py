"""Node classification with a stack of graph convolutions on a stochastic block model."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def block_graph(n=60, k=3, p_in=0.3, p_out=0.03):
    label = torch.arange(n) % k
    same = label[:, None] == label[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    adj = (torch.rand(n, n) < prob).float().triu(1)
    adj = adj + adj.t() + torch.eye(n)
    deg = adj.sum(1).rsqrt()
    return deg[:, None] * adj * deg[None, :], label


class GraphConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin = nn.Linear(d_in, d_out)

    def forward(self, x, adj):
        return adj @ self.lin(x)


class GCN(nn.Module):
    def __init__(self, d_in, hidden, classes, depth=2):
        super().__init__()
        self.inp = nn.Linear(d_in, hidden)
        self.convs = [GraphConv(hidden, hidden) for _ in range(depth)]
        self.norms = [nn.LayerNorm(hidden) for _ in range(depth)]
        self.out = nn.Linear(hidden, classes)

    def forward(self, x, adj):
        x = F.relu(self.inp(x))
        for conv, norm in zip(self.convs, self.norms):
            x = F.relu(norm(conv(x, adj)))
        return self.out(x)


torch.manual_seed(10)
adj, label = block_graph()
feats = torch.randn(60, 8) + 0.3 * F.one_hot(label, 8).float()
train_idx = torch.randperm(60)[:20]

model = GCN(8, 16, 3)
print("parameters:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(100):
    model.train()
    optimizer.zero_grad()
    logits = model(feats, adj)
    loss = F.cross_entropy(logits[train_idx], label[train_idx])
    loss.backward()
    optimizer.step()
    if epoch % 25 == 0:
        acc = (logits.argmax(1) == label).float().mean()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
