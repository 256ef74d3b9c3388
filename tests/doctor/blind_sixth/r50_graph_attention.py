"""Graph attention network for node classification, the best model is kept as a copy."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class GATLayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.lin = nn.Linear(n_in, n_out, bias=False)
        self.a_src = nn.Linear(n_out, 1, bias=False)
        self.a_dst = nn.Linear(n_out, 1, bias=False)
        self.attention = None

    def forward(self, x, adj):
        h = self.lin(x)
        e = F.leaky_relu(self.a_src(h) + self.a_dst(h).t(), 0.2)
        self.attention = e.masked_fill(adj == 0, -1e9).softmax(dim=1)
        return self.attention @ h


class GAT(nn.Module):
    def __init__(self, n_in, hidden, classes):
        super().__init__()
        self.l1 = GATLayer(n_in, hidden)
        self.l2 = GATLayer(hidden, classes)

    def forward(self, x, adj):
        return self.l2(F.elu(self.l1(x, adj)), adj)


def community_graph(n=60, classes=3):
    y = torch.arange(n) % classes
    same = (y[:, None] == y[None, :]).float()
    prob = 0.25 * same + 0.02 * (1 - same)
    adj = (torch.rand(n, n) < prob).float()
    adj = ((adj + adj.t() + torch.eye(n)) > 0).float()
    return torch.randn(n, 8) + 0.5 * F.one_hot(y, 8), adj, y


x, adj, y = community_graph()
train, valid = torch.arange(0, 30), torch.arange(30, 60)
model = GAT(8, 16, 3)
opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
best_acc, best_model = -1.0, None

for epoch in range(40):
    model.train()
    logits = model(x, adj)
    loss = F.cross_entropy(logits[train], y[train])
    opt.zero_grad()
    loss.backward()
    opt.step()
    acc = (logits[valid].argmax(1) == y[valid]).float().mean().item()
    if acc > best_acc:
        best_acc, best_model = acc, copy.deepcopy(model)
    if epoch % 10 == 0:
        print(f"epoch {epoch} loss {loss.item():.3f} valid acc {acc:.3f}")

strongest = best_model.l1.attention.max().item()
print(f"best {best_acc:.3f}, strongest attention weight {strongest:.3f}")
