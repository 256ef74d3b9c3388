"""Graph network with a node classification head and a graph regression head."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(30)


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.lin = nn.Linear(n_in, n_out)

    def forward(self, x, adj):
        deg = adj.sum(1, keepdim=True).clamp(min=1)
        return self.lin(adj @ x / deg)


class MultiTaskGNN(nn.Module):
    def __init__(self, n_in=6, hidden=24, n_classes=2):
        super().__init__()
        self.conv1 = GraphConv(n_in, hidden)
        self.conv2 = GraphConv(hidden, hidden)
        self.node_head = nn.Linear(hidden, n_classes)
        self.graph_head = nn.Linear(hidden, 1)

    def forward(self, x, adj):
        h = F.relu(self.conv1(x, adj))
        h = F.relu(self.conv2(h, adj))
        return self.node_head(h), self.graph_head(h.mean(0))


def random_graph(n=20):
    upper = (torch.rand(n, n) < 0.2).float().triu(1)
    adj = upper + upper.t() + torch.eye(n)
    x = torch.randn(n, 6)
    labels = ((adj @ x)[:, 0] > 0).long()
    return x, adj, labels, adj.mean().view(1) * 5


graphs = [random_graph() for _ in range(12)]
model = MultiTaskGNN()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(10):
    node_total = graph_total = 0.0
    for x, adj, labels, density in graphs:
        optimizer.zero_grad()
        node_logits, pred_density = model(x, adj)
        node_loss = F.cross_entropy(node_logits, labels)
        graph_loss = F.mse_loss(pred_density, density)
        node_loss.backward()
        graph_loss.backward()
        optimizer.step()
        node_total += node_loss.item()
        graph_total += graph_loss.item()
    print(f"epoch {epoch} node {node_total / 12:.4f} graph {graph_total / 12:.4f}")
