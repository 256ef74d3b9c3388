import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MovingNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if self.training:
            self.mean.lerp_(x.detach().mean(0), 0.1)
        return (x - self.mean.clone()) * self.scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(6, 16)
        self.norm = MovingNorm(16)
        self.step = nn.Linear(16, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, x, mask):
        h = self.embed(x)
        h *= mask.unsqueeze(-1)          # the linear layer does not need its result
        h.relu_()
        table = torch.zeros(len(x), 3, 16)
        for t in range(3):
            h = self.step(self.norm(h)).tanh()
            table[:, t] = h              # written, never read before the end
        pooled = table.sum(1)
        pooled /= 3
        pooled += 0.1
        return self.out(pooled)


model = Net()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for it in range(5):
    x = torch.randn(20, 6)
    mask = (torch.rand(20) > 0.2).float()
    y = (x[:, 0] > 0).long()
    logits = model(x, mask)
    weight = torch.ones(20)
    weight[y == 1] = 2.0
    losses = F.cross_entropy(logits, y, reduction="none")
    losses *= weight
    loss = losses.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    x += 1.0                             # too late to matter
    print(it, round(loss.item(), 5))
