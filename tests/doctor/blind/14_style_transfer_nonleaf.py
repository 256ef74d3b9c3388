import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


class Features(nn.Module):
    """Stand-in for the first blocks of a pretrained VGG."""

    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 8, 3, padding=1)
        self.c2 = nn.Conv2d(8, 16, 3, padding=1)
        for p in self.parameters():
            p.requires_grad_(False)

    def forward(self, img):
        f1 = F.relu(self.c1(img))
        f2 = F.relu(self.c2(F.avg_pool2d(f1, 2)))
        return [f1, f2]


def gram(f):
    b, c, h, w = f.shape
    f = f.view(b, c, h * w)
    return f @ f.transpose(1, 2) / (c * h * w)


def total_variation(img):
    return (img[..., 1:] - img[..., :-1]).abs().mean() + (img[..., 1:, :] - img[..., :-1, :]).abs().mean()


net = Features().eval()
content = torch.rand(1, 3, 16, 16)
style = torch.rand(1, 3, 16, 16).pow(3)
with torch.no_grad():
    content_feats = net(content)
    style_grams = [gram(f) for f in net(style)]

# start half way between the content image and noise
noise = torch.rand(1, 3, 16, 16, requires_grad=True)
canvas = 0.5 * content + 0.5 * noise
optimizer = torch.optim.Adam([canvas], lr=0.03)

for step in range(80):
    optimizer.zero_grad()
    feats = net(canvas)
    c_loss = F.mse_loss(feats[1], content_feats[1])
    s_loss = sum(F.mse_loss(gram(f), g) for f, g in zip(feats, style_grams))
    loss = c_loss + 300.0 * s_loss + 0.01 * total_variation(canvas)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        canvas.clamp_(0, 1)
    if step % 20 == 0:
        print(f"step {step} total {loss.item():.4f} content {c_loss.item():.4f} style {s_loss.item():.5f}")
