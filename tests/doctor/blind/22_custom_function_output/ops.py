import torch
from torch.autograd import Function


class ScaledExp(Function):
    """exp(x / tau) with a hand written backward that reuses the result."""

    @staticmethod
    def forward(ctx, x, tau):
        y = torch.exp((x / tau).clamp(max=20.0))
        ctx.save_for_backward(y)
        ctx.tau = tau
        return y

    @staticmethod
    def backward(ctx, grad_out):
        y, = ctx.saved_tensors
        return grad_out * y / ctx.tau, None


def kernel_matrix(a, b, tau):
    d2 = (a[:, None] - b[None]).pow(2).sum(-1)
    return ScaledExp.apply(-d2, tau)
