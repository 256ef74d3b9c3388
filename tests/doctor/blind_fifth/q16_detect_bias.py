import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class Detect(nn.Module):
    stride = 8

    def __init__(self, nc=3, na=2, ch=16):
        super().__init__()
        self.nc, self.na, self.no = nc, na, nc + 5
        self.m = nn.Conv2d(ch, self.no * na, 1)

    def forward(self, x):
        b, _, h, w = x.shape
        return self.m(x).view(b, self.na, self.no, h, w).permute(0, 1, 3, 4, 2)


class Model(nn.Module):
    def __init__(self, nc=3):
        super().__init__()
        layers, c = [], 3
        for out in (8, 16, 16):
            layers += [nn.Conv2d(c, out, 3, stride=2, padding=1), nn.SiLU()]
            c = out
        self.backbone = nn.Sequential(*layers)
        self.head = Detect(nc, ch=c)
        self._initialize_biases()

    def _initialize_biases(self):
        det = self.head
        b = det.m.bias.view(det.na, -1)
        b[:, 4] += math.log(8 / (640 / det.stride) ** 2)
        b[:, 5:] += math.log(0.6 / (det.nc - 0.99))
        det.m.bias = nn.Parameter(b.view(-1), requires_grad=True)

    def forward(self, x):
        return self.head(self.backbone(x))


def batch(n=8):
    img = 0.1 * torch.randn(n, 3, 32, 32)
    obj = torch.zeros(n, 2, 4, 4)
    for i in range(n):
        a, y, x = torch.randint(0, 2, (1,)), torch.randint(0, 4, (1,)), torch.randint(0, 4, (1,))
        obj[i, a, y, x] = 1.0
        img[i, a, y * 8 : y * 8 + 8, x * 8 : x * 8 + 8] += 1.0
    return img, obj


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
bce = nn.BCEWithLogitsLoss()
for it in range(200):
    img, obj = batch()
    pred = model(img)
    loss = bce(pred[..., 4], obj)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 50 == 0 or it == 199:
        print(f"iter {it} loss {loss.item():.4f}")
