import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F


class Accumulator:
    def __init__(self, opt, every):
        self.opt, self.every = opt, every
        self.pending = 0

    @contextlib.contextmanager
    def micro(self):
        yield self.every
        self.pending += 1
        if self.pending == self.every:
            self.flush()

    def flush(self):
        if self.pending:
            self.opt.step()
            self.opt.zero_grad(set_to_none=True)
            self.pending = 0


def spiral(n):
    y = torch.randint(0, 2, (n,))
    r = torch.rand(n) * 3
    phi = r * 2 + 3.14 * y
    return torch.stack([r * phi.cos(), r * phi.sin()], 1) + 0.05 * torch.randn(n, 2), y


def main():
    torch.manual_seed(4)
    net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
    acc = Accumulator(torch.optim.Adam(net.parameters(), lr=0.01), every=4)
    x, y = spiral(440)
    for epoch in range(25):
        running = 0.0
        for rows in torch.randperm(len(x)).split(40):
            with acc.micro() as scale:
                loss = F.cross_entropy(net(x[rows]), y[rows]) / scale
                loss.backward()
            running += float(loss.detach()) * scale
        acc.flush()
    print("loss", round(running / 11, 4))


if __name__ == "__main__":
    main()
