import torch
import torch.nn as nn
import torch.nn.functional as F


class Navigator(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
        self.speed = nn.Linear(24, 1)
        self.turn = nn.Linear(24, 3)

    def forward(self, x):
        z = self.trunk(x)
        return self.speed(z).squeeze(1), self.turn(z)


def demonstrations(n):
    x = torch.randn(n, 5)
    turn = (x[:, 0] > 0.5).long() + (x[:, 1] > 0.5).long()
    return x, x[:, 2].abs() + 0.2 * x[:, 3], turn


def update(net, opts, x, speed, turn):
    s, t = net(x)
    speed_loss = F.mse_loss(s, speed)
    turn_loss = F.cross_entropy(t, turn)
    for o in opts.values():
        o.zero_grad()
    speed_loss.backward(retain_graph=True)
    turn_loss.backward()
    for o in opts.values():
        o.step()
    return speed_loss.item(), turn_loss.item()


def main():
    torch.manual_seed(11)
    net = Navigator()
    opts = {
        "slow": torch.optim.SGD(net.trunk.parameters(), lr=0.02, momentum=0.9),
        "fast": torch.optim.Adam([*net.speed.parameters(), *net.turn.parameters()], lr=5e-3),
    }
    for step in range(100):
        losses = update(net, opts, *demonstrations(48))
    print("speed %.4f turn %.4f" % losses)


main()
