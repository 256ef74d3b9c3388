import torch
from torch import nn, optim

SR = 160


class Synth(nn.Module):
    """Additive synthesiser with a learned saturation stage and short fades at both ends."""

    def __init__(self, partials=6, fade=12):
        super().__init__()
        self.amps = nn.Parameter(torch.ones(partials) / partials)
        self.detune = nn.Parameter(torch.zeros(partials))
        self.drive = nn.Parameter(torch.tensor(1.5))
        self.register_buffer("ratio", torch.arange(1, partials + 1).float())
        self.register_buffer("ramp", torch.linspace(0, 1, fade))

    def oscillators(self, f0, n):
        t = torch.arange(n) / SR
        freq = f0[:, None] * (self.ratio + 0.1 * self.detune)
        return torch.sin(2 * torch.pi * freq[..., None] * t)

    def forward(self, f0, n=SR):
        mix = (self.amps[:, None] * self.oscillators(f0, n)).sum(1)
        out = torch.tanh(self.drive * mix)
        return self.faded(out)

    def faded(self, wave):
        n = len(self.ramp)
        wave[:, :n] *= self.ramp
        wave[:, -n:] *= self.ramp.flip(0)
        return wave


def reference(f0, n=SR):
    t = torch.arange(n) / SR
    phase = 2 * torch.pi * f0[:, None] * t
    saw = sum(torch.sin(k * phase) / k for k in range(1, 5))
    return torch.tanh(saw)


def fit(synth, iters=5):
    opt = optim.Adam([
        {"params": [synth.amps, synth.drive], "lr": 0.03},
        {"params": [synth.detune], "lr": 0.003},
    ])
    f0 = torch.tensor([3.0, 5.0, 8.0])
    target = reference(f0)
    for i in range(iters):
        opt.zero_grad()
        loss = (synth(f0) - target).square().mean()
        loss.backward()
        opt.step()
        print(i, round(loss.item(), 5))


if __name__ == "__main__":
    torch.manual_seed(0)
    fit(Synth())
