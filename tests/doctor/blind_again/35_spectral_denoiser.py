import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, c, 7, padding=3), nn.Tanh(), nn.Conv1d(c, c, 7, padding=3))

    def forward(self, x):
        return self.net(x)


class LowPass:
    """Ideal low-pass filter along the last axis."""

    def __init__(self, keep):
        self.keep = keep

    def __call__(self, h):
        spectrum = np.fft.rfft(h.data.numpy(), axis=-1)
        spectrum[..., self.keep:] = 0
        smooth = np.fft.irfft(spectrum, n=h.shape[-1], axis=-1)
        return torch.from_numpy(smooth.astype(np.float32))


class Denoiser(nn.Module):
    def __init__(self, c=6, keep=12):
        super().__init__()
        self.encoder = Encoder(c)
        self.filter = LowPass(keep)
        self.decoder = nn.Conv1d(c, 1, 5, padding=2)

    def forward(self, x):
        return self.decoder(self.filter(self.encoder(x)))


def seismogram(n, length=64):
    t = torch.linspace(0, 1, length)
    freq = 2 + 6 * torch.rand(n, 1, 1)
    envelope = torch.exp(-8 * (t - torch.rand(n, 1, 1)).pow(2))
    clean = envelope * torch.sin(6.283 * freq * t)
    spikes = (torch.rand(n, 1, length) < 0.05).float() * 3
    return clean + spikes + 0.1 * torch.randn_like(clean), clean


if __name__ == "__main__":
    torch.manual_seed(111)
    model = Denoiser()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(120):
        noisy, clean = seismogram(32)
        loss = F.mse_loss(model(noisy), clean)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("mse", round(loss.item(), 4))
