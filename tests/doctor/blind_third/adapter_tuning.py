import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(70)


class Adapter(nn.Module):
    def __init__(self, dim, rank=4):
        super().__init__()
        self.down = nn.Linear(dim, rank)
        self.up = nn.Linear(rank, dim)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        return x + self.up(F.relu(self.down(x)))


class Encoder(nn.Module):
    def __init__(self, dim=32, depth=3):
        super().__init__()
        self.base = nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth)])
        self.adapters = nn.ModuleList([Adapter(dim) for _ in range(depth)])
        for p in self.base.parameters():
            p.requires_grad = False

    def forward(self, x):
        for layer, adapter in zip(self.base, self.adapters):
            x = adapter(torch.tanh(layer(x)))
        return x


class SentimentModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(32, 2)

    def forward(self, x):
        with torch.no_grad():  # pretrained weights stay as they are
            h = self.encoder(x)
        return self.head(h)


def trainable(model):
    return [p for p in model.parameters() if p.requires_grad]


model = SentimentModel()
print("trainable parameters:", sum(p.numel() for p in trainable(model)))
optimizer = torch.optim.AdamW(trainable(model), lr=1e-2, weight_decay=0.0)
x = torch.randn(256, 32)
y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).long()
for epoch in range(80):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(f"epoch {epoch:2d} loss {loss.item():.4f}")
