import torch
import torch.nn as nn

RESOLUTIONS = ((64, 16), (32, 8), (16, 4))


class TinyVocoder(nn.Module):
    """mel-like frames -> waveform"""

    def __init__(self, n_mels=8, hop=16):
        super().__init__()
        self.pre = nn.Conv1d(n_mels, 16, 3, padding=1)
        self.up = nn.ConvTranspose1d(16, 8, hop, stride=hop)
        self.post = nn.Conv1d(8, 1, 7, padding=3)

    def forward(self, mel):
        h = nn.functional.leaky_relu(self.pre(mel), 0.1)
        h = nn.functional.leaky_relu(self.up(h), 0.1)
        return torch.tanh(self.post(h)).squeeze(1)


def magnitude(wave, n_fft, hop):
    window = torch.hann_window(n_fft)
    spec = torch.stft(wave, n_fft, hop, window=window, return_complex=True)
    return spec.abs().clamp_min(1e-5)


def stft_loss(fake, real, n_fft, hop):
    a, b = magnitude(fake, n_fft, hop), magnitude(real, n_fft, hop)
    convergence = (b - a).norm() / b.norm()
    return convergence + (a.log() - b.log()).abs().mean()


def synth_pair(step, batch=3, frames=12):
    g = torch.Generator().manual_seed(step)
    freq = torch.rand(batch, 1, generator=g) * 0.3 + 0.05
    t = torch.arange(frames * 16).float()
    wave = 0.5 * torch.sin(freq * t)
    mel = wave.view(batch, frames, 16).transpose(1, 2)[:, ::2]
    return mel, wave


def train(steps=4):
    torch.manual_seed(0)
    vocoder = TinyVocoder()
    opt = torch.optim.AdamW(vocoder.parameters(), lr=2e-3, betas=(0.8, 0.99))
    for step in range(steps):
        mel, wave = synth_pair(step)
        fake = vocoder(mel)
        opt.zero_grad()
        total = 0.0
        for n_fft, hop in RESOLUTIONS:
            loss = stft_loss(fake, wave, n_fft, hop) / len(RESOLUTIONS)
            total = total + loss
        total.backward()
        opt.step()
        print(f"step {step} sc+mag {total:.4f}")


if __name__ == "__main__":
    train()
