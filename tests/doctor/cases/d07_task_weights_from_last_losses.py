import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoTaskNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.depth = nn.Linear(32, 1)
        self.segment = nn.Linear(32, 5)

    def forward(self, x):
        h = self.trunk(x)
        return self.depth(h).squeeze(-1), self.segment(h)


class LossBalancer:
    """Dynamic weight average: tasks that improve slowly get a larger weight."""

    def __init__(self, tasks, temperature=2.0):
        self.tasks = tasks
        self.temperature = temperature
        self.previous = None

    def weights(self, losses):
        if self.previous is None:
            rates = torch.ones(self.tasks)
        else:
            rates = losses / self.previous
        w = self.tasks * F.softmax(rates / self.temperature, dim=0)
        self.previous = losses
        return w


def make_batch(n=16):
    x = torch.randn(n, 8)
    return x, x[:, 0] * x[:, 1], x[:, :5].argmax(1)


def main():
    torch.manual_seed(11)
    net = TwoTaskNet()
    balancer = LossBalancer(2)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for it in range(5):
        x, depth, labels = make_batch()
        out_depth, out_seg = net(x)
        losses = torch.stack([F.l1_loss(out_depth, depth), F.cross_entropy(out_seg, labels)])
        total = (balancer.weights(losses) * losses).sum()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        print(it, [round(v, 4) for v in losses.tolist()])


main()
