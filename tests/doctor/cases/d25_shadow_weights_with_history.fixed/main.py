import torch
import torch.nn.functional as F
from model import build
from shadow import Shadow


def accuracy(net, x, y):
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def main(steps=8):
    torch.manual_seed(0)
    net = build()
    shadow = Shadow(net, decay=0.9)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(64, 5)
    y = (x[:, 0] > x[:, 1]).long()
    for step in range(steps):
        rows = torch.randint(0, 64, (16,))
        loss = F.cross_entropy(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        shadow.update(net)
        if step % 4 == 3:
            print(step, round(loss.item(), 4), accuracy(net, x, y))
    averaged = build()
    averaged.load_state_dict(shadow.weights)
    print("averaged", accuracy(averaged, x, y))


main()
