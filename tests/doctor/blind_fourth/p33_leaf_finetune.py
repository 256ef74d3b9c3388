import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(44)
torch.set_num_threads(1)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1, stride=2)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return F.adaptive_avg_pool2d(x, 2).flatten(1)


class LeafModel(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def leaves(n, channel_of_class):
    y = torch.randint(0, 3, (n,))
    x = 0.5 * torch.randn(n, 3, 8, 8)
    x[torch.arange(n), channel_of_class[y]] += 0.8
    return x, y


def train(model, data, steps, lr):
    x, y = data
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for step in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


source = LeafModel(Backbone(), 3)
print("pretrained", train(source, leaves(128, torch.tensor([0, 1, 2])), steps=40, lr=5e-3))

backbone = copy.deepcopy(source.backbone)
backbone.requires_grad = False
target = LeafModel(backbone, 3)
print("fine-tuned", train(target, leaves(64, torch.tensor([2, 0, 1])), steps=40, lr=1e-2))
change = max((a - b).abs().max().item() for a, b in zip(backbone.parameters(), source.backbone.parameters()))
print("change of the frozen backbone", change)
