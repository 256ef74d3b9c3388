import torch
import torch.nn as nn
import torch.nn.functional as F


class BinarySign(torch.autograd.Function):
    """Sign in the forward pass, hard-tanh derivative in the backward pass."""

    @staticmethod
    def forward(ctx, w):
        ctx.save_for_backward(w)
        return torch.where(w >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_output):
        w, = ctx.saved_tensors
        inside = (w.abs() <= 1).to(grad_output.dtype)
        return inside


class BinaryLinear(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in).uniform_(-0.5, 0.5))
        self.scale = nn.Parameter(torch.full((d_out,), d_in ** -0.5))
        self.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, x):
        return F.linear(x, BinarySign.apply(self.weight)) * self.scale + self.bias


class BinaryNet(nn.Sequential):
    def __init__(self, d, width, classes):
        super().__init__(BinaryLinear(d, width), nn.Hardtanh(), BinaryLinear(width, classes))


def parity_like(n, d=10):
    x = torch.randint(0, 2, (n, d)).float() * 2 - 1
    return x, (x[:, :3].sum(1) > 0).long()


def main():
    torch.manual_seed(88)
    net = BinaryNet(10, 32, 2)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for it in range(120):
        x, y = parity_like(64)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    x, y = parity_like(1000)
    positive = torch.cat([(m.weight > 0).float().flatten() for m in net if isinstance(m, BinaryLinear)]).mean()
    print(f"accuracy {(net(x).argmax(1) == y).float().mean():.3f} positive weights {positive:.2f}")


if __name__ == "__main__":
    main()
