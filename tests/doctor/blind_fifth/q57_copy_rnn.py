import torch
import torch.nn as nn

torch.manual_seed(60)
torch.set_num_threads(1)


class ElmanRegressor(nn.Module):
    def __init__(self, hid=32):
        super().__init__()
        self.rnn = nn.RNN(1, hid, batch_first=True, nonlinearity="relu")
        nn.init.eye_(self.rnn.weight_hh_l0)
        self.out = nn.Linear(hid, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


def sums(n=32, length=25):
    x = torch.rand(n, length, 1)
    if torch.rand(1) < 0.1:
        x[0] *= 20
    return x, x.sum(1)


class History(list):
    def window(self, k=50):
        return sum(self[-k:]) / len(self[-k:])


def train(steps=300, max_norm=1.0):
    net = ElmanRegressor()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    criterion = nn.SmoothL1Loss()
    hist, moves = History(), History()
    for step in range(steps):
        x, y = sums()
        loss = criterion(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        before = torch.cat([p.detach().flatten().clone() for p in net.parameters()])
        optimizer.step()
        nn.utils.clip_grad_norm_(net.parameters(), max_norm)
        after = torch.cat([p.detach().flatten() for p in net.parameters()])
        hist.append(loss.item())
        moves.append((after - before).norm().item())
        if step % 75 == 74:
            print(f"step {step} loss {hist.window():.4f} largest update {max(moves):.5f}")
    return net


if __name__ == "__main__":
    train()
