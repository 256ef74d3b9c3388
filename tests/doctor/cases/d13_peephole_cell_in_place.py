import torch
import torch.nn as nn


class PeepholeCell(nn.Module):
    def __init__(self, n_in, n_hid):
        super().__init__()
        self.gates = nn.Linear(n_in + n_hid, 4 * n_hid)
        self.peep = nn.Parameter(0.1 * torch.randn(3, n_hid))

    def forward(self, x, h, c):
        i, f, g, o = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
        i = torch.sigmoid(i + self.peep[0] * c)
        f = torch.sigmoid(f + self.peep[1] * c)
        c *= f
        c += i * torch.tanh(g)
        o = torch.sigmoid(o + self.peep[2] * c)
        h = o * torch.tanh(c)
        return h, c


class Forecaster(nn.Module):
    def __init__(self, n_hid=16):
        super().__init__()
        self.n_hid = n_hid
        self.cell = PeepholeCell(1, n_hid)
        self.read = nn.Linear(n_hid, 1)

    def forward(self, series):
        h = torch.zeros(series.size(0), self.n_hid)
        c = torch.zeros(series.size(0), self.n_hid)
        out = []
        for t in range(series.size(1)):
            h, c = self.cell(series[:, t:t + 1], h, c)
            out.append(self.read(h))
        return torch.cat(out, 1)


def main():
    torch.manual_seed(0)
    time = torch.linspace(0, 6, 21)
    waves = torch.stack([torch.sin(time + p) for p in torch.rand(8) * 6])
    net = Forecaster()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(3):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(waves[:, :-1]), waves[:, 1:])
        loss.backward()
        opt.step()
        print(epoch, f"{loss.item():.5f}")


if __name__ == "__main__":
    main()
