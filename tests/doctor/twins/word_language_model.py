"""An LSTM whose states are repackaged, stepped by hand, with `total_loss` as numbers."""

import torch
from torch import nn

torch.manual_seed(0)


class RNNModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.rnn = nn.Embedding(10, 8), nn.LSTM(8, 8, 2, dropout=0.2)
        self.decoder = nn.Linear(8, 10)

    def forward(self, x, hidden):
        output, hidden = self.rnn(self.encoder(x), hidden)
        return torch.log_softmax(self.decoder(output).view(-1, 10), dim=1), hidden

    def init_hidden(self, batch):
        weight = next(self.parameters())
        return weight.new_zeros(2, batch, 8), weight.new_zeros(2, batch, 8)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


source, lr = torch.randint(0, 10, (61, 3)), 2.0
model, criterion = RNNModel(), nn.NLLLoss()


def evaluate():
    model.eval()
    total, hidden = 0.0, model.init_hidden(3)
    with torch.no_grad():
        for i in range(0, 60, 6):
            output, hidden = model(source[i : i + 6], hidden)
            hidden = repackage_hidden(hidden)
            total += 6 * criterion(output, source[i + 1 : i + 7].reshape(-1)).item()
    return total / 60


best = None
for _ in range(3):
    model.train()
    total_loss, hidden = 0.0, model.init_hidden(3)
    for i in range(0, 60, 6):
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(source[i : i + 6], hidden)
        loss = criterion(output, source[i + 1 : i + 7].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
    found = evaluate()
    if not best or found < best:
        best = found
    else:
        lr /= 4.0
print(best, total_loss)
