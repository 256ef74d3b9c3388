import torch
from torch import nn


class CoordinateLSTM(nn.Module):
    """One small LSTM shared by all coordinates proposes the update from the gradient."""

    def __init__(self, hidden):
        super().__init__()
        self.hidden = hidden
        self.cell = nn.LSTMCell(2, hidden)
        self.out = nn.Linear(hidden, 1)

    def fresh_memory(self, coordinates):
        zeros = torch.zeros(coordinates, self.hidden)
        return zeros, zeros.clone()

    @staticmethod
    def features(slope):
        size = slope.abs().clamp(min=1e-6).log() / 10
        return torch.stack([size, slope.sign()], -1)

    def forward(self, slope, memory):
        memory = self.cell(self.features(slope), memory)
        return 0.1 * self.out(memory[0]).squeeze(-1), memory
