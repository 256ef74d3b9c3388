import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)
torch.set_num_threads(1)

GRID, SIZE = 4, 32
ANCHOR = torch.tensor([8.0, 8.0])


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        c = [1, 8, 16, 16]
        self.body = nn.Sequential(
            *[nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.SiLU()) for a, b in zip(c[:-1], c[1:])], nn.Conv2d(16, 5, 1)
        )
        yv, xv = torch.meshgrid(torch.arange(GRID), torch.arange(GRID), indexing="ij")
        self.register_buffer("grid", torch.stack([xv, yv], -1).float())

    def forward(self, x):
        y = self.body(x).permute(0, 2, 3, 1).sigmoid()
        y[..., 0:2] = (y[..., 0:2] * 2.0 - 0.5 + self.grid) * (SIZE / GRID)
        y[..., 2:4] = (y[..., 2:4] * 2) ** 2 * ANCHOR
        return y


def scene(n):
    wh = torch.randint(6, 14, (n, 2)).float()
    ctr = 8 + 16 * torch.rand(n, 2)
    img = 0.05 * torch.randn(n, 1, SIZE, SIZE)
    for i in range(n):
        (cx, cy), (w, h) = ctr[i], wh[i]
        img[i, 0, int(cy - h / 2) : int(cy + h / 2), int(cx - w / 2) : int(cx + w / 2)] += 1
    cell = (ctr // (SIZE / GRID)).long()
    return img, torch.cat([ctr, wh], 1), cell


def loss_fn(pred, box, cell):
    b = torch.arange(len(box))
    obj = torch.zeros(pred.shape[:3])
    obj[b, cell[:, 1], cell[:, 0]] = 1.0
    at = pred[b, cell[:, 1], cell[:, 0]]
    return F.smooth_l1_loss(at[:, :4], box) + F.binary_cross_entropy(pred[..., 4], obj)


net = Detector()
optim = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(80):
    img, box, cell = scene(16)
    loss = loss_fn(net(img), box, cell)
    optim.zero_grad()
    loss.backward()
    optim.step()
    if step % 20 == 0 or step == 79:
        print(f"step {step} loss {loss.item():.4f}")
