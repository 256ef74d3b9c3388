import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(66)
SCALES = (1, 2, 4)


class PyramidNet(nn.Module):
    """Predicts a depth map at three scales from one encoder."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 12, 3, padding=1)
        self.mix = nn.ModuleList(nn.Conv2d(12, 12, 3, padding=1) for _ in SCALES)
        self.heads = nn.ModuleList(nn.Conv2d(12, 1, 1) for _ in SCALES)

    def forward(self, x):
        h = F.elu(self.stem(x))
        outs = []
        for s, mix, head in zip(SCALES, self.mix, self.heads):
            h = F.elu(mix(h)) + h
            outs.append(head(F.avg_pool2d(h, s) if s > 1 else h))
        return outs


def scene(n=8, size=16):
    coarse = torch.rand(n, 1, 4, 4)
    depth = F.interpolate(coarse, size=size, mode="bilinear", align_corners=False)
    shade = depth + 0.1 * torch.randn_like(depth)
    return torch.cat([shade, torch.rand_like(shade)], 1), depth


def backward_all_scales(outs, depth, weights=(1.0, 0.5, 0.25)):
    """Every scale has its own loss on the shared encoder."""
    total = 0.0
    parts = []
    for k, (out, s, w) in enumerate(zip(outs, SCALES, weights)):
        target = F.avg_pool2d(depth, s) if s > 1 else depth
        part = w * F.l1_loss(out, target)
        parts.append(part.item())
        total = total + part
        total.backward(retain_graph=k < len(SCALES) - 1)
    return parts


model = PyramidNet()
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(80):
    x, depth = scene()
    opt.zero_grad()
    parts = backward_all_scales(model(x), depth)
    opt.step()
    if step % 20 == 0:
        print(step, " ".join(f"{p:.4f}" for p in parts))
