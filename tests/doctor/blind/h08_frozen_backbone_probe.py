import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(108)


class Probe(nn.Module):
    """Linear probe plus a small adapter on a frozen backbone."""

    def __init__(self, backbone, dim, n_cls):
        super().__init__()
        self.backbone = backbone.eval()
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.adapter = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, dim))
        self.head = nn.Linear(dim, n_cls)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            f = self.backbone(x)
        return self.head(f + self.adapter(f))


backbone = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
model = Probe(backbone, 32, 3)
frozen = [p.clone() for p in backbone.parameters()]
trainable = [p for p in model.parameters() if p.requires_grad]
opt = torch.optim.SGD(trainable, lr=0.1, momentum=0.9)
w = torch.randn(10, 3)
for step in range(150):
    model.train()
    x = torch.randn(64, 10)
    y = (x @ w).argmax(1)
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"{step} loss {loss.item():.3f}")
print("backbone untouched:", all(torch.equal(a, b) for a, b in zip(frozen, backbone.parameters())))
