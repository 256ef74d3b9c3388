# Transfer: backbone trained on task A, frozen, new head for task B
import torch
from torch import nn

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(inplace=True), nn.Linear(48, 24))

    def forward(self, x):
        return self.layers(x)


class Transfer(nn.Module):
    def __init__(self, backbone, n_classes):
        super().__init__()
        self.backbone = backbone
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.head = nn.Linear(24, n_classes)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            z = self.backbone(x)
        return self.head(torch.relu(z))


def fit(model, params, x, y, steps):
    opt = torch.optim.Adam(params, lr=1e-2)
    crit = nn.CrossEntropyLoss()
    model.train()
    for _ in range(steps):
        loss = crit(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


x = torch.randn(256, 12)
y_a = (x[:, 0] * x[:, 1] > 0).long()
y_b = (x[:, 0] + x[:, 2] > 0).long()

backbone = Backbone()
pre = nn.Sequential(backbone, nn.Linear(24, 2))
print("task A", fit(pre, pre.parameters(), x, y_a, 60))

model = Transfer(backbone, 2)
trainable = [p for p in model.parameters() if p.requires_grad]
print("task B", fit(model, trainable, x, y_b, 60))
model.eval()
with torch.no_grad():
    print("accuracy B", (model(x).argmax(1) == y_b).float().mean().item())
