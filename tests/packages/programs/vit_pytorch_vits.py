"""vit-pytorch: ViT, SimpleViT and CaiT learn four classes of random images."""

import torch
import torch.nn.functional as F
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT

torch.manual_seed(0)
images, labels = torch.randn(8, 3, 32, 32), torch.randint(4, (8,))
shape = dict(image_size=32, patch_size=8, num_classes=4, dim=32, heads=4, mlp_dim=64)
models = [
    ViT(depth=2, dropout=0.1, emb_dropout=0.1, **shape),
    SimpleViT(depth=2, **shape),
    CaiT(depth=2, cls_depth=1, dropout=0.1, layer_dropout=0.0, **shape),
]
for model in models:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(4):
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(type(model).__name__, step, f"{loss.item():.6f}")
