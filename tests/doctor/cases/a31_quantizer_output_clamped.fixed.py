import torch
import torch.nn as nn
import torch.nn.functional as F


class SoftRound(torch.autograd.Function):
    """Rounds to a grid; the gradient is damped where the result is far from zero."""

    @staticmethod
    def forward(ctx, x, step):
        y = torch.round(x / step) * step
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output / (1 + y.abs()), None


class QuantLinear(nn.Linear):
    def __init__(self, n_in, n_out, step=0.125, limit=1.0):
        super().__init__(n_in, n_out)
        self.step, self.limit = step, limit

    def forward(self, x):
        w = SoftRound.apply(self.weight, self.step)
        h = SoftRound.apply(x, self.step)
        return F.linear(h.clamp(-self.limit, self.limit), w, self.bias)


class QuantMLP(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.first = nn.Linear(n_in, n_hidden)
        self.second = QuantLinear(n_hidden, n_hidden)
        self.third = QuantLinear(n_hidden, n_out)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        x = torch.tanh(self.second(x))
        return self.third(x)


def xor_data(n):
    x = torch.rand(n, 2) * 2 - 1
    return x, (x[:, :1] * x[:, 1:] > 0).float()


torch.manual_seed(7)
model = QuantMLP(2, 16, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    x, y = xor_data(64)
    loss = F.binary_cross_entropy_with_logits(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(step, f"{loss.item():.4f}")
