import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)


def gram(maps):
    b, c, h, w = maps.shape
    flat = maps.view(b, c, h * w)
    return flat @ flat.transpose(1, 2) / (c * h * w)


class RandomFilters(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 12, 5, padding=2)
        self.b = nn.Conv2d(12, 24, 3, stride=2, padding=1)
        self.requires_grad_(False)

    def forward(self, img):
        x = F.relu(self.a(img))
        return gram(x), gram(F.relu(self.b(x)))


def synthesise(filters, style, steps=80):
    with torch.no_grad():
        wanted = filters(style)
    # grey canvas with a bit of noise
    canvas = torch.rand(1, 3, 24, 24, requires_grad=True) * 0.1 + 0.45
    opt = torch.optim.Adam([canvas], lr=0.02)
    for step in range(steps):
        opt.zero_grad()
        distance = sum(F.mse_loss(g, w) for g, w in zip(filters(canvas), wanted))
        distance.backward()
        opt.step()
        if step % 20 == 0:
            print(f"step {step:3d} style distance {distance.item():.6f}")
    return canvas.detach().clamp(0, 1)


style = (torch.arange(24)[:, None] + torch.arange(24)) % 6 / 6
style = style.expand(1, 3, 24, 24).contiguous()
result = synthesise(RandomFilters(), style)
print("mean colour", result.mean(dim=(0, 2, 3)).tolist())
