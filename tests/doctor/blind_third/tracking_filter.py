import torch
import torch.nn as nn

torch.manual_seed(64)


class LearnedFilter(nn.Module):
    """Estimates position from noisy readings; trained chunk by chunk on one long recording."""

    def __init__(self, size=12):
        super().__init__()
        self.size = size
        self.gain = nn.Linear(size + 1, size)
        self.carry = nn.Parameter(0.9 * torch.eye(size))
        self.read = nn.Linear(size, 1)

    def start(self):
        return torch.zeros(1, self.size)

    def forward(self, readings, belief):
        estimates = []
        for z in readings:
            inp = torch.cat([belief @ self.carry, z.view(1, 1)], dim=1)
            belief = torch.tanh(self.gain(inp))
            estimates.append(self.read(belief).view(()))
        return torch.stack(estimates), belief


def trajectory(steps):
    t = torch.arange(steps) * 0.1
    truth = torch.sin(t) + 0.4 * torch.sin(2.7 * t)
    return truth, truth + 0.3 * torch.randn(steps)


truth, readings = trajectory(300)
net = LearnedFilter()
lr = 0.02
belief = net.start()
chunk = 10

for start in range(0, 300, chunk):
    estimate, belief = net(readings[start:start + chunk], belief)
    loss = (estimate - truth[start:start + chunk]).pow(2).mean()
    net.zero_grad()
    loss.backward(retain_graph=True)
    for p in net.parameters():
        p.data = p.data - lr * p.grad
    if start % 60 == 0:
        print(f"t={start:3d} loss {loss.item():.4f}")
