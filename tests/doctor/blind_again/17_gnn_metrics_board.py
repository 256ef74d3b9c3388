import torch
import torch.nn as nn
import torch.nn.functional as F


class MessagePassing(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.msg = nn.Linear(2 * d, d)
        self.upd = nn.GRUCell(d, d)

    def forward(self, h, src, dst):
        m = F.relu(self.msg(torch.cat([h[src], h[dst]], -1)))
        pooled = torch.zeros_like(h).index_add(0, dst, m)
        return self.upd(pooled, h)


class MoleculeNet(nn.Module):
    def __init__(self, d=16, rounds=3):
        super().__init__()
        self.atom = nn.Embedding(5, d)
        self.layer = MessagePassing(d)
        self.rounds = rounds
        self.energy = nn.Linear(d, 1)
        self.charge = nn.Linear(d, 1)

    def forward(self, z, src, dst):
        h = self.atom(z)
        for _ in range(self.rounds):
            h = self.layer(h, src, dst)
        return self.energy(h).sum(), self.charge(h).squeeze(-1)


def molecule():
    n = int(torch.randint(6, 12, (1,)))
    z = torch.randint(0, 5, (n,))
    src = torch.arange(n - 1)
    dst = src + 1
    src, dst = torch.cat([src, dst]), torch.cat([dst, src])
    return z, src, dst, (z[src] * z[dst]).float().sum() / 40, (z.float() - 2) / 2


def train_step(net, opt, mol):
    z, src, dst, e, q = mol
    e_hat, q_hat = net(z, src, dst)
    order = torch.argsort(torch.rand(len(z)))
    place = torch.argsort(order)
    e_perm, _ = net(z[order], place[src], place[dst])
    parts = {"energy": (e_hat - e).pow(2), "charge": F.mse_loss(q_hat, q),
             "asymmetry": (e_perm - e_hat).abs()}
    loss = parts["energy"] + parts["charge"]
    opt.zero_grad()
    loss.backward()
    opt.step()
    return parts


def main():
    torch.manual_seed(18)
    net = MoleculeNet()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    board = {}
    for step in range(60):
        parts = train_step(net, opt, molecule())
        for name, value in parts.items():
            board.setdefault(name, []).append(value)
        if step % 15 == 14:
            print(step + 1, {k: round(float(sum(v)) / len(v), 3) for k, v in board.items()})
            board = {}


if __name__ == "__main__":
    main()
