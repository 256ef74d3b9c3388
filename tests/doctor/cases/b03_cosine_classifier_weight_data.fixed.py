import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class CosFace(nn.Module):
    """Large-margin cosine loss over normalised class centres."""

    def __init__(self, dim, classes, scale=12.0, margin=0.2):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(classes, dim))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        self.scale, self.margin = scale, margin

    def forward(self, embedding, label):
        centres = F.normalize(self.weight, dim=1)
        cosine = F.normalize(embedding, dim=1) @ centres.t()
        margins = self.margin * F.one_hot(label, cosine.shape[1])
        return F.cross_entropy(self.scale * (cosine - margins), label)


class Trainer:
    def __init__(self, backbone, criterion, steps):
        self.backbone, self.criterion = backbone, criterion
        self.optimizer = torch.optim.SGD(
            [
                {"params": backbone.parameters(), "lr": 0.05},
                {"params": criterion.parameters(), "lr": 0.2},
            ],
            momentum=0.9,
        )
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, steps)

    def step(self, images, labels):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.backbone(images), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(self.backbone.parameters(), 5.0)
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(3)
    backbone = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
    prototypes = torch.randn(5, 10)
    trainer = Trainer(backbone, CosFace(8, 5), steps=40)
    for it in range(40):
        y = torch.randint(0, 5, (48,))
        value = trainer.step(prototypes[y] + 0.4 * torch.randn(48, 10), y)
        if it % 10 == 9:
            print(it, round(value, 4))
