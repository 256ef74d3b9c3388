import math

import torch


class MuLaw(torch.autograd.Function):
    """sign(x) log(1 + mu |x|) / log(1 + mu); the slope is cheap to get from the output."""

    @staticmethod
    def forward(ctx, x, mu):
        scale = math.log1p(mu)
        y = torch.sign(x) * torch.log1p(mu * x.abs()) / scale
        ctx.save_for_backward(y)
        ctx.mu, ctx.scale = mu, scale
        return y

    @staticmethod
    def backward(ctx, upstream):
        y, = ctx.saved_tensors
        return upstream * ctx.mu / ctx.scale * torch.exp(-y.abs() * ctx.scale), None
