import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(101)


class StockLSTM(nn.Module):
    def __init__(self, hid=24, layers=2):
        super().__init__()
        self.lstm = nn.LSTM(2, hid, layers, batch_first=True, dropout=0.1)
        self.out = nn.Linear(hid, 1)

    def forward(self, x, state=None):
        y, state = self.lstm(x, state)
        return self.out(y), state


def repackage(state):
    if isinstance(state, torch.Tensor):
        return state.detach()
    return tuple(repackage(s) for s in state)


t = torch.arange(400).float()
series = torch.stack([torch.sin(0.1 * t * (k + 1) / 3) for k in range(8)])
inp = torch.stack([series[:, :-1], series.diff(dim=1)], -1)
target = series[:, 1:, None]

model = StockLSTM()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
window = 33
for epoch in range(4):
    state, losses = None, []
    for s in range(0, inp.size(1), window):
        x, y = inp[:, s:s + window], target[:, s:s + window]
        if state is not None:
            state = repackage(state)
        pred, state = model(x, state)
        loss = F.mse_loss(pred, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}")
