"""Toy one-stage detector: one shared stem, one small head per pyramid level."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class Head(nn.Module):
    def __init__(self, channels, n_out):
        super().__init__()
        self.tower = nn.Conv2d(channels, channels, 3, padding=1)
        self.pred = nn.Conv2d(channels, n_out, 1)

    def forward(self, f):
        return self.pred(F.relu(self.tower(f)))


class Detector(nn.Module):
    def __init__(self, levels=3, channels=8):
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, padding=1)
        self.heads = []
        for _ in range(levels):
            self.heads.append(Head(channels, 5))

    def forward(self, x):
        f = F.relu(self.stem(x))
        outs = []
        for head in self.heads:
            outs.append(head(f).mean(dim=(2, 3)))
            f = F.max_pool2d(f, 2)
        return outs


def synthetic(n=32, size=16):
    img = torch.randn(n, 1, size, size) * 0.1
    boxes = torch.rand(n, 4)
    for k in range(n):
        r, c = int(boxes[k, 0] * 10), int(boxes[k, 1] * 10)
        img[k, 0, r:r + 5, c:c + 5] += 1 + boxes[k, 2]
    return img, boxes


def detection_loss(outs, boxes):
    loss = 0.0
    for o in outs:
        loss = loss + F.smooth_l1_loss(o[:, :4], boxes)
        loss = loss + F.binary_cross_entropy_with_logits(o[:, 4], torch.ones(len(o)))
    return loss / len(outs)


def main():
    img, boxes = synthetic()
    det = Detector()
    print("trainable values:", sum(p.numel() for p in det.parameters()))
    opt = torch.optim.Adam(det.parameters(), lr=5e-3)
    for step in range(40):
        loss = detection_loss(det(img), boxes)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0 or step == 39:
            print(f"step {step:3d} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
