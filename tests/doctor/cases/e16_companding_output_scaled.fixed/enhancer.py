from compander import MuLaw
from torch import nn


class Enhancer(nn.Module):
    def __init__(self, mu=255.0):
        super().__init__()
        self.mu = mu
        self.filter = nn.Conv1d(1, 1, 9, padding=4, bias=False)
        self.level = 0.5
        nn.init.dirac_(self.filter.weight)

    def forward(self, wave):
        cleaned = self.filter(wave[:, None]).squeeze(1)
        code = MuLaw.apply(cleaned, self.mu)
        code = code * self.level
        return code

    def reference(self, wave):
        return self.level * MuLaw.apply(wave, self.mu)
