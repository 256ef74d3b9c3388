import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(57)
torch.set_num_threads(1)


class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bits):
        levels = 2 ** bits - 1
        ctx.save_for_backward(x)
        return torch.round(x.clamp(0, 1) * levels) / levels

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        inside = (x >= 0) & (x <= 1)
        return grad_output * inside, None


class LowBitNet(nn.Module):
    def __init__(self, inp, hidden, classes, bits):
        super().__init__()
        self.fc1 = nn.Linear(inp, hidden)
        self.bn = nn.BatchNorm1d(hidden)
        self.fc2 = nn.Linear(hidden, classes)
        self.bits = bits

    def forward(self, x):
        h = 0.5 + 0.25 * self.bn(self.fc1(x))
        return self.fc2(Quantize.apply(h, self.bits))


def spots(n):
    x = torch.randn(n, 8)
    return x, (x[:, 0] > x[:, 1]).long() + 2 * (x[:, 2] > 0).long()


net = LowBitNet(8, 64, 4, bits=2)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
best = 0.0
for step in range(200):
    x, y = spots(128)
    logits = net(x)
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy = (logits.argmax(dim=1) == y).float().mean().item()
    best = max(best, accuracy)
    if step % 50 == 49:
        print(f"{step + 1} loss {loss.item():.3f} accuracy {accuracy:.2f} best {best:.2f}")
