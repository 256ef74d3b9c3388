import torch
import torch.nn as nn
import torch.nn.functional as F


class Stack(nn.Module):
    def __init__(self, d=10, width=24, depth=3):
        super().__init__()
        sizes = [d] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in zip(sizes, sizes[1:]))
        self.head = None
        self.layers.requires_grad_(False)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.head(x)


class Schedule:
    def __init__(self, model, lr):
        self.model, self.lr = model, lr
        self.opt = torch.optim.Adam(model.head.parameters(), lr=lr)
        self.todo = list(model.layers)

    def advance(self):
        if self.todo:
            layer = self.todo.pop()
            layer.requires_grad_(True)
            self.lr *= 0.5
            self.opt.add_param_group({"params": list(layer.parameters()), "lr": self.lr})


torch.manual_seed(12)
model = Stack()
model.head = nn.Linear(24, 1)
schedule = Schedule(model, lr=0.01)
x = torch.randn(256, 10)
y = torch.tanh(x[:, :1] * 2) + x[:, 1:2]
for stage in range(4):
    for _ in range(25):
        loss = F.mse_loss(model(x), y)
        schedule.opt.zero_grad()
        loss.backward()
        schedule.opt.step()
    trained = sum(p.numel() for g in schedule.opt.param_groups for p in g["params"])
    print(f"stage {stage}: loss {loss.item():.4f} ({trained} weights)")
    schedule.advance()
