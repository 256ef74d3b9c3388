"""The image is what is learned; modules in the net keep the loss of each pass as an attribute."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def gram(x):
    a, b, c, d = x.size()
    rows = x.view(a * b, c * d)
    return torch.mm(rows, rows.t()).div(a * b * c * d)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, x):
        self.loss = F.mse_loss(x, self.target)
        return x


class StyleLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = gram(target).detach()

    def forward(self, x):
        self.loss = F.mse_loss(gram(x), self.target)
        return x


content, style = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)
cnn = [nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(inplace=False), nn.Conv2d(6, 6, 3, padding=1)]
model, content_losses, style_losses = nn.Sequential(), [], []
for i, layer in enumerate(cnn):
    model.add_module(f"layer_{i}", layer)
    if isinstance(layer, nn.Conv2d):
        content_losses.append(ContentLoss(model(content).detach()))
        model.add_module(f"content_{i}", content_losses[-1])
        style_losses.append(StyleLoss(model(style).detach()))
        model.add_module(f"style_{i}", style_losses[-1])
image = content.clone()
optimizer = torch.optim.LBFGS([image], max_iter=6)
image.requires_grad_(True)
model.eval()
model.requires_grad_(False)
run = [0]
while run[0] <= 20:

    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        optimizer.zero_grad()
        model(image)
        style_score, content_score = 0, 0
        for part in style_losses:
            style_score += part.loss
        for part in content_losses:
            content_score += part.loss
        style_score *= 1000
        loss = style_score + content_score
        loss.backward()
        run[0] += 1
        return style_score + content_score

    optimizer.step(closure)
with torch.no_grad():
    image.clamp_(0, 1)
print(run[0], image.mean().item())
