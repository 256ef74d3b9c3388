from torch import nn


class Reader(nn.Module):
    def __init__(self, n_in=3, hidden=12):
        super().__init__()
        self.rnn = nn.LSTM(n_in, hidden)
        self.out = nn.Linear(hidden, 1)
        self.state = None

    def forward(self, x):
        y, self.state = self.rnn(x, self.state)
        return self.out(y)

    def cut(self):
        self.state = tuple(s.detach() for s in self.state)
