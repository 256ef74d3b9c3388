"""torchvision: ResNet and MobileNet learn, with the transforms of both versions."""

import torch
import torch.nn.functional as F
from torchvision import models
from torchvision.transforms import v2

torch.manual_seed(0)
# the last normalization of a ResNet is over four values here: float32 would show its rounding
torch.set_default_dtype(torch.float64)
change = v2.Compose(
    [
        v2.RandomHorizontalFlip(),
        v2.RandomResizedCrop(32, scale=(0.5, 1.0)),
        v2.ToDtype(torch.float64, scale=True),
        v2.Normalize([0.5] * 3, [0.25] * 3),
    ]
)
pictures = torch.randint(256, (4, 3, 40, 40), dtype=torch.uint8)
labels = torch.randint(4, (4,))
for make in (models.resnet18, models.mobilenet_v3_small, models.swin_t):
    torch.manual_seed(0)
    model = make(num_classes=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step in range(2):
        images = change(pictures)
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(make.__name__, step, f"{images.mean().item():.5f} {loss.item():.6f}")
