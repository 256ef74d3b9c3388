import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(27)
torch.set_num_threads(1)


def make_backbone():
    net = nn.Sequential(
        nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(),
    )
    net.eval()
    for p in net.parameters():
        p.requires_grad_(False)
    return net


labels = torch.randint(0, 3, (256,))
images = 0.4 * torch.randn(256, 3, 12, 12)
images[torch.arange(256), labels] += 1.0
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)

backbone = make_backbone()
head = nn.Sequential(nn.Linear(96, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)

for epoch in range(15):
    right = 0
    for xb, yb in loader:
        # the backbone is only used, never trained
        with torch.inference_mode():
            features = backbone(xb)
        logits = head(features)
        loss = F.cross_entropy(logits, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (logits.argmax(1) == yb).sum().item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {loss.item():.3f} accuracy {right / 256:.2f}")
