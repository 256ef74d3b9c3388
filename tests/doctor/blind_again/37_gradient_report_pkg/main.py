import torch

from model import HousePriceNet, synth_houses
from report import GradientReport


def main():
    torch.manual_seed(40)
    x, y = synth_houses(200)
    net = HousePriceNet(x.size(1))
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    report = GradientReport(net, every=5)
    for step in range(20):
        rows = torch.randint(0, len(x), (40,))
        loss = torch.nn.functional.huber_loss(net(x[rows]), y[rows])
        opt.zero_grad()
        report.collect(step, loss)
        loss.backward()
        opt.step()
    print(report.table())
    print("loss", round(loss.item(), 4))


if __name__ == "__main__":
    main()
