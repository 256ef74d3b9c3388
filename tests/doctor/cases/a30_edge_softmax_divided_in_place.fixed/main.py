import torch
import torch.nn.functional as F

from layers.gat import GraphAttention

torch.manual_seed(0)


def molecule(n_nodes, gen):
    chain = torch.arange(n_nodes - 1)
    extra = torch.randint(0, n_nodes, (2, n_nodes // 2), generator=gen)
    edges = torch.cat([torch.stack([chain, chain + 1]), extra], dim=1)
    edges = torch.cat([edges, edges.flip(0)], dim=1)
    x = torch.randn(n_nodes, 6, generator=gen)
    degree = torch.bincount(edges[1], minlength=n_nodes).float()
    return x, edges, (x[:, 0] * degree).mean().reshape(1)


class Regressor(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gat = GraphAttention(6, 12)
        self.out = torch.nn.Linear(12, 1)

    def forward(self, x, edges):
        return self.out(F.elu(self.gat(x, edges)).mean(0))


gen = torch.Generator().manual_seed(3)
graphs = [molecule(8, gen) for _ in range(10)]
model = Regressor()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    total = 0.0
    for x, edges, target in graphs:
        loss = F.mse_loss(model(x, edges), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, round(total / len(graphs), 4))
