"""Remember the flag shown at the first step until the end of the sequence."""
import torch
from torch import nn

torch.manual_seed(36)
torch.set_num_threads(1)
LENGTH, FLAGS = 8, 4


class Recall(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.hidden = hidden
        self.cell = nn.GRUCell(FLAGS + 2, hidden)
        self.read = nn.Linear(hidden, FLAGS)

    def forward(self, seq):
        h = seq.new_zeros(seq.size(1), self.hidden)
        for x in seq:
            h = self.cell(x, h.detach())
        return self.read(h)


def batch(n):
    flag = torch.randint(0, FLAGS, (n,))
    seq = torch.zeros(LENGTH, n, FLAGS + 2)
    seq[0, torch.arange(n), flag] = 1.0
    seq[1:, :, FLAGS:] = torch.randn(LENGTH - 1, n, 2)
    return seq, flag


def accuracy(model):
    seq, flag = batch(400)
    with torch.no_grad():
        return (model(seq).argmax(1) == flag).float().mean().item()


model = Recall()
optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for it in range(1, 201):
    seq, flag = batch(64)
    loss = criterion(model(seq), flag)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if it % 50 == 0:
        print(f"{it} loss {loss.item():.3f} accuracy {accuracy(model):.2f}")
