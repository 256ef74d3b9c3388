"""Quantisation-aware training with a straight-through rounding Function."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class FakeQuant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, bits):
        qmax = 2 ** (bits - 1) - 1
        q = torch.clamp(torch.round(x / scale), -qmax - 1, qmax)
        ctx.save_for_backward(x)
        ctx.limit = scale * qmax
        return q * scale

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        inside = (x.abs() <= ctx.limit).to(grad_out.dtype)
        return grad_out * inside


class QuantLinear(nn.Linear):
    def __init__(self, d_in, d_out, bits=4):
        super().__init__(d_in, d_out)
        self.bits = bits

    def forward(self, x):
        scale = self.weight.detach().abs().max().item() / (2 ** (self.bits - 1) - 1)
        w = FakeQuant.apply(self.weight, scale, self.bits)
        return F.linear(x, w, self.bias)


def main(steps=80):
    torch.manual_seed(1)
    model = nn.Sequential(QuantLinear(10, 32), nn.ReLU(), QuantLinear(32, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    w = torch.randn(10, 3)
    for step in range(steps):
        x = torch.randn(64, 10)
        y = (x @ w).argmax(1)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 20 == 0:
            print(step, f"{loss.item():.4f}", f"lr={sched.get_last_lr()[0]:.4f}")
    return model


if __name__ == "__main__":
    main()
