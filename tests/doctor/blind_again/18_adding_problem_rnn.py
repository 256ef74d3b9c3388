import torch
import torch.nn as nn
import torch.nn.functional as F


class RecurrentCell(nn.Module):
    def __init__(self, d_in, d_h):
        super().__init__()
        self.gates = nn.Linear(d_in + d_h, 2 * d_h)
        self.cand = nn.Linear(d_in + d_h, d_h)

    def forward(self, x, h):
        z, r = self.gates(torch.cat([x, h], 1)).sigmoid().chunk(2, 1)
        n = torch.tanh(self.cand(torch.cat([x, r * h], 1)))
        return (1 - z) * h + z * n


class Reader(nn.Module):
    def __init__(self, d_h=24):
        super().__init__()
        self.d_h = d_h
        self.cell = RecurrentCell(2, d_h)
        self.out = nn.Linear(d_h, 1)

    def forward(self, seq):
        h = torch.zeros(seq.size(0), self.d_h)
        for x in seq.unbind(1):
            h = self.cell(x, h.detach())
        return self.out(h).squeeze(1)


def adding_batch(n, length=8):
    values = torch.rand(n, length)
    marks = torch.zeros(n, length)
    first = torch.randint(0, length // 2, (n,))
    second = torch.randint(length // 2, length, (n,))
    rows = torch.arange(n)
    marks[rows, first] = 1
    marks[rows, second] = 1
    return torch.stack([values, marks], -1), (values * marks).sum(1)


def main(steps=200):
    torch.manual_seed(55)
    net = Reader()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for step in range(steps):
        x, y = adding_batch(64)
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    print(f"mse over the last 20 steps: {sum(losses[-20:]) / 20:.4f}")


main()
