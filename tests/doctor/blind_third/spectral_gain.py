import torch
from torch import nn


class BandGain(torch.autograd.Function):
    """y = gain * x * |x|**(order - 1), with a hand-written derivative."""

    @staticmethod
    def forward(ctx, x, gain, order):
        ctx.save_for_backward(x, gain)
        ctx.order = order
        return gain * x * x.abs() ** (order - 1)

    @staticmethod
    def backward(ctx, grad_out):
        x, gain = ctx.saved_tensors
        p = ctx.order
        mag = x.abs() ** (p - 1)
        grad_x = grad_out * gain * p * mag
        grad_gain = (grad_out * x * mag).sum_to_size(gain.shape)
        return grad_x, grad_gain


class Compressor(nn.Module):
    def __init__(self, bands, order=3):
        super().__init__()
        self.gain = nn.Parameter(torch.full((bands,), 0.3))
        self.order = order

    def forward(self, spectrum):
        return spectrum + BandGain.apply(spectrum, self.gain, self.order)


torch.manual_seed(5)
spectrum = torch.randn(200, 10) * 0.7
wanted = spectrum + torch.linspace(-0.5, 0.8, 10) * spectrum * spectrum.abs() ** 2

comp = Compressor(10)
opt = torch.optim.Adam(comp.parameters(), lr=0.05)
for it in range(100):
    opt.zero_grad()
    loss = (comp(spectrum) - wanted).pow(2).mean()
    loss.backward()
    opt.step()
print("final loss", float(loss.detach()))
print("gains", [round(g, 2) for g in comp.gain.tolist()])
