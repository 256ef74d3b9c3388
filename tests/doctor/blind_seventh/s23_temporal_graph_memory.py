"""Temporal graph network: every node keeps a memory vector that interactions update."""
import torch
import torch.nn as nn
import torch.nn.functional as F

N_NODES, DIM = 20, 16


class TGN(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("memory", torch.zeros(N_NODES, DIM))
        self.message = nn.Linear(2 * DIM + 1, DIM)
        self.updater = nn.GRUCell(DIM, DIM)
        self.embed = nn.Embedding(N_NODES, DIM)
        self.score = nn.Bilinear(DIM, DIM, 1)

    def state(self, nodes):
        return self.memory[nodes] + self.embed(nodes)

    def link_logits(self, src, dst):
        return self.score(self.state(src), self.state(dst)).squeeze(-1)

    def update_memory(self, src, dst, dt):
        mem = self.memory.clone()
        msg = torch.relu(self.message(torch.cat([self.state(src), self.state(dst), dt[:, None]], dim=1)))
        mem[src] = self.updater(msg, self.memory[src])
        self.memory = mem


def interactions(n_batches, size=12):
    for _ in range(n_batches):
        src = torch.randperm(N_NODES)[:size]
        dst = (src + torch.randint(1, 4, (size,))) % N_NODES
        neg = torch.randint(0, N_NODES, (size,))
        yield src, dst, neg, torch.rand(size)


def main():
    torch.manual_seed(9)
    model = TGN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        model.memory.zero_()
        previous = None
        for i, (src, dst, neg, dt) in enumerate(interactions(15)):
            if previous is not None:
                model.update_memory(*previous)
            pos_logit = model.link_logits(src, dst)
            neg_logit = model.link_logits(src, neg)
            loss = F.binary_cross_entropy_with_logits(pos_logit, torch.ones_like(pos_logit)) \
                + F.binary_cross_entropy_with_logits(neg_logit, torch.zeros_like(neg_logit))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            previous = (src, dst, dt)
            if i % 5 == 0:
                print(f"epoch {epoch} batch {i} loss {loss.item():.4f}")
        model.memory = model.memory.detach()


if __name__ == "__main__":
    main()
