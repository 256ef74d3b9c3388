"""Binary-activation network trained with a clipped straight-through estimator."""
import torch
import torch.nn as nn


class BinarizeSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, threshold):
        ctx.save_for_backward(x)
        ctx.threshold = threshold
        return torch.where(x > threshold, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = ((x - ctx.threshold).abs() <= 1).to(grad_output.dtype)
        return grad_output * inside


class BinaryLayer(nn.Module):
    def __init__(self, n_in, n_out, threshold=0.0):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.norm = nn.BatchNorm1d(n_out)
        self.threshold = threshold

    def forward(self, x):
        return BinarizeSTE.apply(self.norm(self.linear(x)), self.threshold)


def build():
    return nn.Sequential(BinaryLayer(16, 64), BinaryLayer(64, 64), nn.Linear(64, 2))


def train(model, x, y, epochs=20):
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    ce = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(64):
            opt.zero_grad()
            loss = ce(model(x[idx]), y[idx])
            loss.backward()
            opt.step()
        if epoch % 5 == 0:
            print("epoch", epoch, "loss", round(loss.item(), 4))


if __name__ == "__main__":
    torch.manual_seed(10)
    x = torch.randn(256, 16)
    y = (x[:, 0] * x[:, 1] > 0).long()
    train(build(), x, y)
