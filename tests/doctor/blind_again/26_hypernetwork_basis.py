import torch
import torch.nn as nn
import torch.nn.functional as F


class MainNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.width = width
        self.inp = nn.Linear(1, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.inp(x)))


class HyperNet(nn.Module):
    """Maps a task vector to the weights of the main network."""

    def __init__(self, task_dim, main):
        super().__init__()
        self.main = main
        self.shapes = {"inp": main.inp.weight.shape, "out": main.out.weight.shape}
        self.trunk = nn.Sequential(nn.Linear(task_dim, 32), nn.ReLU())
        self.makers = nn.ModuleDict({k: nn.Linear(32, s.numel()) for k, s in self.shapes.items()})

    def weights_for(self, task):
        h = self.trunk(task)
        return {k: self.makers[k](h).view(s) for k, s in self.shapes.items()}

    def forward(self, task, x):
        for name, w in self.weights_for(task).items():
            getattr(self.main, name).weight = nn.Parameter(w)
        return self.main(x)


def draw_task():
    task = torch.rand(2) * 2 - 1
    x = torch.rand(40, 1) * 4 - 2
    return task, x, task[0] * torch.sin(2 * x) + task[1] * x


def train(steps=150):
    torch.manual_seed(77)
    net = HyperNet(2, MainNet())
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    curve = []
    for step in range(steps):
        opt.zero_grad()
        loss = 0.0
        for _ in range(2):
            task, x, y = draw_task()
            loss = loss + F.mse_loss(net(task, x), y) / 2
        loss.backward()
        opt.step()
        curve.append(loss.item())
    return curve


curve = train()
print(f"loss {sum(curve[:20]) / 20:.4f} -> {sum(curve[-20:]) / 20:.4f}")
