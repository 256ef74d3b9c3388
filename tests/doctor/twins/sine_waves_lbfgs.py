"""LBFGS with a closure around a recurrent net that also predicts on from its own output."""

import math

import torch
from torch import nn

torch.manual_seed(0)


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1, self.lstm2 = nn.LSTMCell(1, 6), nn.LSTMCell(6, 6)
        self.linear = nn.Linear(6, 1)

    def forward(self, x, future=0):
        outputs = []
        h1, c1 = torch.zeros(len(x), 6, dtype=torch.double), torch.zeros(len(x), 6, dtype=torch.double)
        h2, c2 = torch.zeros_like(h1), torch.zeros_like(c1)
        for step in x.split(1, dim=1):
            h1, c1 = self.lstm1(step, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        for _ in range(future):
            h1, c1 = self.lstm1(output, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


places = torch.arange(12, dtype=torch.double)
data = torch.sin((places + 4 * torch.rand(5, 1, dtype=torch.double)) / math.pi)
given, target = data[2:, :-1], data[2:, 1:]
seq = Sequence().double()
criterion = nn.MSELoss()
optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=5)
for _ in range(4):

    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(given), target)
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        pred = seq(data[:2, :-1], future=6)
        test = criterion(pred[:, :-6], data[:2, 1:])
        shown = pred.detach().numpy()
print(test.item(), shown.shape)
