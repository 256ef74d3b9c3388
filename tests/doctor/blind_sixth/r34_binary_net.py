"""Network with binary activations (sign in forward, clipped identity in backward)."""
import torch
import torch.nn as nn

torch.manual_seed(0)


class SignSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_input = torch.ones_like(x)
        grad_input[x.abs() > 1] = 0
        return grad_input


class BinaryBlock(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.norm = nn.BatchNorm1d(n_out)

    def forward(self, x):
        return SignSTE.apply(self.norm(self.linear(x)))


class BinaryNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(BinaryBlock(10, 64), BinaryBlock(64, 64))
        self.head = nn.Linear(64, 2)

    def forward(self, x):
        return self.head(self.blocks(x))


x = torch.randn(400, 10)
y = ((x[:, 0] * x[:, 1] + x[:, 2]) > 0).long()
net = BinaryNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
crit = nn.CrossEntropyLoss()

for epoch in range(30):
    for idx in torch.randperm(400).split(100):
        opt.zero_grad()
        loss = crit(net(x[idx]), y[idx])
        loss.backward()
        opt.step()
    if epoch % 10 == 9:
        acc = (net(x).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch + 1} loss {loss.item():.3f} accuracy {acc:.3f}")
