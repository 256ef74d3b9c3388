import torch
import torch.nn as nn
import torch.nn.functional as F


class EarlyExitNet(nn.Module):
    def __init__(self, d_in=20, width=40, classes=4):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Linear(d_in, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.exit1 = nn.Linear(width, classes)
        self.stage2 = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.exit2 = nn.Linear(width, classes)

    def forward(self, x):
        h1 = self.stage1(x)
        h2 = self.stage2(h1)
        return [self.exit1(h1), self.exit2(h2)]


def toy_classes(n=256, d=20, k=4, seed=0):
    g = torch.Generator().manual_seed(seed)
    centers = torch.randn(k, d, generator=g) * 1.2
    y = torch.randint(0, k, (n,), generator=g)
    return centers[y] + torch.randn(n, d, generator=g), y


class ExitTrainer:
    def __init__(self, net, lr=0.05):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=lr)

    def fit_batch(self, x, y):
        outs = self.net(x)
        losses = [F.cross_entropy(o, y) for o in outs]
        for k, loss in enumerate(losses):
            last = k == len(losses) - 1
            self.opt.zero_grad()
            loss.backward(retain_graph=not last)
            self.opt.step()
        return [l.item() for l in losses]


def run():
    torch.manual_seed(2)
    X, Y = toy_classes()
    trainer = ExitTrainer(EarlyExitNet())
    for epoch in range(6):
        perm = torch.randperm(len(X))
        for b in perm.split(64):
            last = trainer.fit_batch(X[b], Y[b])
    print("exit losses", [round(v, 3) for v in last])


run()
