import torch


def chunks(count, length=6, batch=4):
    clock = torch.arange(count * length + 1.0)
    wave = torch.stack([torch.sin(clock * f) for f in (0.1, 0.23, 0.37)], dim=-1)
    noise = 0.05 * torch.randn(len(clock), batch, 3)
    signal = wave.unsqueeze(1) + noise
    for i in range(count):
        part = signal[i * length:(i + 1) * length + 1]
        yield part[:-1], part[1:, :, :1]
