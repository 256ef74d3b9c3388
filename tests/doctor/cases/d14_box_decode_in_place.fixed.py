import torch
import torch.nn as nn
import torch.nn.functional as F

ANCHORS = torch.tensor([[1.0, 1.5], [2.0, 0.8]])


class TinyDetector(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.na, self.no = len(ANCHORS), 5 + classes
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.SiLU())
        self.head = nn.Conv2d(16, self.na * self.no, 1)

    def forward(self, images):
        p = self.head(self.stem(images))
        b, _, ny, nx = p.shape
        p = p.view(b, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous()
        return decode(p, ny, nx)


def decode(p, ny, nx):
    gy, gx = torch.meshgrid(torch.arange(ny), torch.arange(nx), indexing="ij")
    grid = torch.stack([gx, gy], -1).float().view(1, 1, ny, nx, 2)
    xy = p[..., 0:2].sigmoid() + grid
    wh = torch.exp(p[..., 2:4].clamp(max=4)) * ANCHORS.view(1, -1, 1, 1, 2)
    return torch.cat([xy, wh, p[..., 4:]], -1)


def detection_loss(pred, boxes, labels):
    box = F.smooth_l1_loss(pred[:, 0, 0, 0, :4], boxes)
    objectness = F.binary_cross_entropy_with_logits(pred[..., 4], torch.zeros_like(pred[..., 4]))
    return box + objectness + F.cross_entropy(pred[:, 0, 0, 0, 5:], labels)


torch.manual_seed(9)
model = TinyDetector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for it in range(4):
    images = torch.rand(2, 3, 16, 16)
    boxes = torch.rand(2, 4) * 2
    labels = torch.randint(0, 3, (2,))
    optimizer.zero_grad()
    loss = detection_loss(model(images), boxes, labels)
    loss.backward()
    optimizer.step()
    print(f"iter {it} loss {loss.item():.4f}")
