import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(48)


class MessageLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU())
        self.update = nn.GRUCell(dim, dim)

    def forward(self, h, edges):
        src, dst = edges
        msg = self.message(torch.cat([h[src], h[dst]], dim=1))
        inbox = torch.zeros_like(h)
        inbox.data.index_add_(0, dst, msg)
        return self.update(inbox, h)


class MoleculeNet(nn.Module):
    def __init__(self, atom_types=6, dim=16, rounds=2):
        super().__init__()
        self.atoms = nn.Embedding(atom_types, dim)
        self.layers = nn.ModuleList([MessageLayer(dim) for _ in range(rounds)])
        self.readout = nn.Linear(dim, 1)

    def forward(self, types, edges, owner, n_graphs):
        h = self.atoms(types)
        for layer in self.layers:
            h = layer(h, edges)
        pooled = torch.zeros(n_graphs, h.size(1)).index_add(0, owner, h)
        return self.readout(pooled).squeeze(-1)


def random_graphs(n_graphs=40, size=6):
    types = torch.randint(0, 6, (n_graphs * size,))
    owner = torch.arange(n_graphs).repeat_interleave(size)
    base = owner * size
    ring = base + (torch.arange(n_graphs * size) - base + 1) % size
    src = torch.cat([torch.arange(len(ring)), ring])
    dst = torch.cat([ring, torch.arange(len(ring))])
    bond = (types[src] == types[dst]).float()
    target = torch.zeros(n_graphs).index_add(0, owner[src], bond)
    return types, (src, dst), owner, n_graphs, target


*graph, target = random_graphs()
net = MoleculeNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(120):
    loss = F.mse_loss(net(*graph), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 30 == 0:
        print(f"epoch {epoch:3d} loss {loss.item():.4f}")
