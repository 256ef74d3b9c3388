"""Custom functions: one that works in place and says so, one that saves its output."""
import torch
from torch import nn


class LeakyInPlace(torch.autograd.Function):
    """Leaky ReLU that overwrites its input; the sign of the output is enough for the slope."""

    @staticmethod
    def forward(ctx, x, slope):
        ctx.slope = slope
        x.copy_(torch.where(x > 0, x, slope * x))
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, upstream):
        y, = ctx.saved_tensors
        return torch.where(y > 0, upstream, ctx.slope * upstream), None


class Binarise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, upstream):
        x, = ctx.saved_tensors
        return upstream * (x.abs() < 1)


class BinaryCodes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 6, 5, padding=2)
        self.code = nn.Linear(6, 8)
        self.decode = nn.Linear(8, 16)

    def forward(self, x):
        hidden = self.conv(x[:, None])
        hidden = LeakyInPlace.apply(hidden, 0.1)
        bits = Binarise.apply(self.code(hidden.mean(-1)))
        return self.decode(bits)


torch.manual_seed(3)
model = BinaryCodes()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(6):
    x = torch.sin(torch.linspace(0, 6, 16) + 6 * torch.rand(8, 1))
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.4f}")
