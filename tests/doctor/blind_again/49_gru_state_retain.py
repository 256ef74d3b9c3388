import torch
from torch import nn

torch.manual_seed(3)


def make_stream(n=240):
    t = torch.arange(n, dtype=torch.float32)
    load = torch.sin(t / 9) + 0.4 * torch.sin(t / 3.1) + 0.05 * torch.randn(n)
    return load.unsqueeze(-1)


class LoadForecaster(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.cell = nn.GRUCell(1, width)
        self.readout = nn.Linear(width, 1)

    def unroll(self, chunk, h):
        preds = []
        for value in chunk:
            h = self.cell(value.view(1, 1), h)
            preds.append(self.readout(h))
        return torch.cat(preds), h


stream = make_stream()
net = LoadForecaster()
optim = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
mse = nn.MSELoss()

chunk_len = 24
for sweep in range(3):
    h = torch.zeros(1, 24)
    seen = []
    for pos in range(0, len(stream) - chunk_len - 1, chunk_len):
        chunk = stream[pos:pos + chunk_len]
        target = stream[pos + 1:pos + chunk_len + 1]
        preds, h = net.unroll(chunk, h)
        loss = mse(preds, target)
        optim.zero_grad()
        loss.backward(retain_graph=True)
        optim.step()
        seen.append(loss.item())
    print(f"sweep {sweep}  mse {sum(seen) / len(seen):.4f}")
