import torch
import torch.nn as nn


class EdgeConv(nn.Module):
    def __init__(self, nodes, edges, hidden):
        super().__init__()
        self.gate = nn.Sequential(nn.Linear(edges, hidden), nn.SiLU(), nn.Linear(hidden, hidden))
        self.source = nn.Linear(nodes, hidden)
        self.own = nn.Linear(nodes, hidden)

    def forward(self, x, edge_index, edge_attr):
        row, col = edge_index
        with torch.no_grad():
            degree = torch.zeros(x.size(0)).index_add_(0, col, torch.ones(col.numel()))
            norm = degree.clamp(min=1).reciprocal()[col].unsqueeze(1)
        gate = torch.sigmoid(self.gate(edge_attr))
        message = norm * gate * self.source(x)[row]
        return self.own(x).index_add(0, col, message)


class Molecule(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.first = EdgeConv(4, 2, hidden)
        self.second = EdgeConv(hidden, 2, hidden)
        self.readout = nn.Linear(hidden, 1)

    def forward(self, x, edge_index, edge_attr):
        h = torch.relu(self.first(x, edge_index, edge_attr))
        h = torch.relu(self.second(h, edge_index, edge_attr))
        return self.readout(h.mean(0))


def random_molecule(generator):
    n = int(torch.randint(5, 9, (1,), generator=generator))
    edge_index = torch.randint(0, n, (2, 3 * n), generator=generator)
    edge_attr = torch.rand(3 * n, 2, generator=generator)
    x = torch.rand(n, 4, generator=generator)
    return (x, edge_index, edge_attr), edge_attr.prod(1).sum().view(1) / n


generator = torch.Generator().manual_seed(0)
torch.manual_seed(0)
data = [random_molecule(generator) for _ in range(12)]
model = Molecule()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    total = 0.0
    for graph, target in data:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(*graph), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, round(total / len(data), 5))
