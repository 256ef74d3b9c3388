"""timm: a ResNet, a ConvNeXt and a vision transformer learn, with a schedule and mixup."""

import timm
import torch
import torch.nn.functional as F
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler

options = {
    "resnet10t": {},
    "convnext_atto": dict(depths=(1, 1, 1, 1), dims=(8, 16, 24, 32)),
    "vit_tiny_patch16_224": dict(img_size=64, patch_size=16, embed_dim=32, depth=2, num_heads=4),
}
for name, changed in options.items():
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=4, drop_rate=0.1, **changed)
    images, labels = torch.randn(8, 3, 64, 64), torch.randint(4, (8,))
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    schedule = CosineLRScheduler(optimizer, t_initial=5)
    for step in range(3):
        loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step(step + 1)
        print(name, step, f"{loss.item():.6f}")
    model.eval()
    with torch.no_grad():
        print(name, tuple(model.forward_features(images).shape), f"{model(images).std():.5f}")
