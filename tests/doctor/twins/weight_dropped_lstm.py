"""Weights dropped before each forward, repackaged states, averaged weights swapped in to evaluate."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1111)


class WeightDrop(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.cell = nn.LSTMCell(inputs, width)
        raw = self.cell.weight_hh
        del self.cell._parameters["weight_hh"]
        self.cell.register_parameter("weight_hh_raw", nn.Parameter(raw.data))

    def forward(self, x, state):
        dropped = F.dropout(self.cell.weight_hh_raw, p=0.3, training=self.training)
        self.cell.__dict__["weight_hh"] = dropped
        found = []
        for row in x:
            state = self.cell(row, state)
            found.append(state[0])
        return torch.stack(found), state


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.decoder = nn.Embedding(9, 8), WeightDrop(8, 8), nn.Linear(8, 9)
        self.decoder.weight = self.embed.weight

    def forward(self, x, hidden):
        raw, hidden = self.rnn(self.embed(x), hidden)
        return self.decoder(F.dropout(raw, 0.2, self.training)), hidden, raw


def repackage(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage(v) for v in h)


def fresh(batch):
    weight = next(model.parameters())
    return weight.new_zeros(batch, 8), weight.new_zeros(batch, 8)


data = torch.randint(0, 9, (41, 4))
model = Model()
params = list(model.parameters())
optimizer = torch.optim.SGD(params, lr=0.5, weight_decay=1.2e-6)


def evaluate():
    model.eval()
    total, hidden = 0, fresh(4)
    for i in range(0, 40, 5):
        output, hidden, _ = model(data[i : i + 5], hidden)
        total += 5 * F.cross_entropy(output.view(-1, 9), data[i + 1 : i + 6].view(-1)).data
        hidden = repackage(hidden)
    return total.item() / 40


for epoch in range(4):
    model.train()
    total_loss, hidden = 0, fresh(4)
    for i in range(0, 40, 5):
        hidden = repackage(hidden)
        optimizer.zero_grad()
        output, hidden, raw = model(data[i : i + 5], hidden)
        raw_loss = F.cross_entropy(output.view(-1, 9), data[i + 1 : i + 6].view(-1))
        loss = raw_loss + 2 * output.pow(2).mean() + (raw[1:] - raw[:-1]).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 0.25)
        optimizer.step()
        total_loss += raw_loss.data
    if "t0" in optimizer.param_groups[0]:
        kept = {}
        for p in model.parameters():
            kept[p] = p.data.clone()
            p.data = optimizer.state[p]["ax"].clone()
        print("averaged", evaluate())
        for p in model.parameters():
            p.data = kept[p].clone()
    else:
        print("plain", evaluate())
        if epoch == 1:
            optimizer = torch.optim.ASGD(model.parameters(), lr=0.5, t0=0, lambd=0.0)
