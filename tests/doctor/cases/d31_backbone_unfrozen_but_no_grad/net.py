import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 3), nn.ReLU())
        self.head = nn.Linear(6, classes)

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x)
        return self.head(features.mean(dim=(2, 3)))
