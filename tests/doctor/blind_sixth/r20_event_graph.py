"""Link prediction on a stream of events; every node has a memory vector updated by a GRU cell."""
import torch
import torch.nn as nn

torch.manual_seed(0)
N_NODES, DIM = 30, 16


class NodeMemory(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.register_buffer("state", torch.zeros(n, dim))
        self.cell = nn.GRUCell(2 * dim + 1, dim)

    def reset(self):
        self.state = torch.zeros_like(self.state)

    def read(self, nodes):
        return self.state[nodes]

    def write(self, src, dst, dt):
        msg_s = torch.cat([self.state[src], self.state[dst], dt], 1)
        msg_d = torch.cat([self.state[dst], self.state[src], dt], 1)
        nodes = torch.cat([src, dst])
        new = self.cell(torch.cat([msg_s, msg_d]), self.state[nodes])
        state = self.state.clone()
        state[nodes] = new
        self.state = state


class LinkModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.static = nn.Embedding(N_NODES, DIM)
        self.memory = NodeMemory(N_NODES, DIM)
        self.score = nn.Sequential(nn.Linear(4 * DIM, 32), nn.ReLU(), nn.Linear(32, 1))

    def embed(self, nodes):
        return torch.cat([self.static(nodes), self.memory.read(nodes)], 1)

    def forward(self, src, dst, neg, dt):
        self.memory.write(src, dst, dt)
        s, d, n = self.embed(src), self.embed(dst), self.embed(neg)
        return self.score(torch.cat([s, d], 1)), self.score(torch.cat([s, n], 1))


def events(batches=10, size=12):
    for _ in range(batches):
        src = torch.randint(0, N_NODES // 2, (size,))
        dst = (src * 3 + 1) % (N_NODES // 2) + N_NODES // 2
        yield src, dst, torch.randint(N_NODES // 2, N_NODES, (size,)), torch.rand(size, 1)


model = LinkModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(3):
    model.memory.reset()
    losses = []
    for src, dst, neg, dt in events():
        pos_out, neg_out = model(src, dst, neg, dt)
        loss = bce(pos_out, torch.ones_like(pos_out)) + bce(neg_out, torch.zeros_like(neg_out))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch} {sum(losses) / len(losses):.3f}")
