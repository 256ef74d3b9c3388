"""Quantization aware training of a small regressor (uniform quantizer, straight through)."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class UniformQuant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bits, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        step = 2 * limit / (2 ** bits - 1)
        return torch.round(x.clamp(-limit, limit) / step) * step

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        inside = (x.abs() <= ctx.limit).to(grad_output.dtype)
        return grad_output * inside


class QLinear(nn.Linear):
    def __init__(self, n_in, n_out, bits=4):
        super().__init__(n_in, n_out)
        self.bits = bits

    def forward(self, x):
        w = UniformQuant.apply(self.weight, self.bits, 1.0)
        return F.linear(x, w, self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = QLinear(8, 32)
        self.fc2 = QLinear(32, 1)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def main():
    x = torch.randn(256, 8)
    y = (x[:, :3].sum(1, keepdim=True) - x[:, 3:4] * x[:, 4:5])
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(30):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        if epoch % 10 == 0:
            print(epoch, loss.item())


if __name__ == "__main__":
    main()
