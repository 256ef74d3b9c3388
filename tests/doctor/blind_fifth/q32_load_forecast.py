import torch
import torch.nn as nn

torch.manual_seed(99)
torch.set_num_threads(1)


class Forecaster(nn.Module):
    def __init__(self, hidden_size=24, batch=8):
        super().__init__()
        self.hidden_size = hidden_size
        self.lstm = nn.LSTM(1, hidden_size)
        self.linear = nn.Linear(hidden_size, 1)
        self.hidden_cell = (torch.zeros(1, batch, hidden_size), torch.zeros(1, batch, hidden_size))

    def forward(self, seq):
        out, self.hidden_cell = self.lstm(seq, self.hidden_cell)
        return self.linear(out[-1])


def series(batch=8, length=400):
    t = torch.arange(length).float()[:, None, None]
    phase = 6.28 * torch.rand(1, batch, 1)
    return torch.sin(0.2 * t + phase) + 0.5 * torch.sin(0.05 * t)


def windows(x, width=20):
    for s in range(0, x.size(0) - width - 1, width):
        yield x[s : s + width], x[s + width]


data = series()
model = Forecaster()
loss_function = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(15):
    epoch_loss = []
    for seq, label in windows(data):
        optimizer.zero_grad()
        y_pred = model(seq)
        loss = loss_function(y_pred, label)
        loss.backward(retain_graph=True)
        optimizer.step()
        epoch_loss.append(loss.item())
    if epoch % 5 == 4:
        print(f"epoch {epoch} loss {sum(epoch_loss) / len(epoch_loss):.4f}")
