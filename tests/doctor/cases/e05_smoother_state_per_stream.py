"""Keyword spotting on interleaved microphone streams with a trainable PCEN front end."""
import torch
from torch import nn

torch.manual_seed(2)
BANDS, FRAMES = 12, 6


class PCEN(nn.Module):
    def __init__(self, bands):
        super().__init__()
        self.smooth = nn.Parameter(torch.full((bands,), -2.0))
        self.gain = nn.Parameter(torch.full((bands,), 0.9))
        self.bias = nn.Parameter(torch.full((bands,), 2.0))
        self._last = {}

    def forward(self, energy, stream):
        s = torch.sigmoid(self.smooth)
        state = self._last.get(stream, energy[:, 0])
        smoothed = []
        for t in range(energy.size(1)):
            state = (1 - s) * state + s * energy[:, t]
            smoothed.append(state)
        self._last[stream] = state
        floor = torch.stack(smoothed, 1)
        return (energy / (floor + 1e-3) ** self.gain + self.bias.abs()).sqrt()

    def forget(self):
        self._last.clear()


class Spotter(nn.Module):
    def __init__(self, words=3):
        super().__init__()
        self.pcen = PCEN(BANDS)
        self.head = nn.Linear(BANDS, words)

    def forward(self, energy, stream):
        return self.head(self.pcen(energy, stream).mean(1))


def interleaved(order="ABCABACB"):
    for stream in order:
        energy = torch.rand(2, FRAMES, BANDS) * (1 + "ABC".index(stream))
        yield stream, energy, energy.mean((1, 2)).floor().long().clamp(max=2)


model = Spotter()
model.pcen.forget()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for stream, energy, word in interleaved():
    loss = nn.functional.cross_entropy(model(energy, stream), word)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(stream, f"{loss.item():.4f}")
