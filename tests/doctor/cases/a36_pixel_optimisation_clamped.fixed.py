import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, 3, padding=1)
        self.c2 = nn.Conv2d(6, 8, 3, padding=1, stride=2)
        for p in self.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        h1 = F.relu(self.c1(x))
        h2 = F.relu(self.c2(h1))
        return h1, h2


def gram(h):
    flat = h.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.size(-1)


class StyleObjective:
    def __init__(self, content, style, weight=20.0):
        self.net = Features()
        self.weight = weight
        with torch.no_grad():
            self.content = self.net(content)[1]
            self.style = [gram(h) for h in self.net(style)]

    def __call__(self, image):
        maps = self.net(image)
        content = F.mse_loss(maps[1], self.content)
        style = sum(F.mse_loss(gram(h), s) for h, s in zip(maps, self.style))
        return content + self.weight * style


def transfer(objective, start, steps, lr):
    image = start.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([image], lr=lr)
    for step in range(steps):
        optimizer.zero_grad()
        loss = objective(image)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            image.clamp_(0.0, 1.0)
        if step % 8 == 7:
            print(step, f"{loss.item():.5f}")
    return image.detach()


content = torch.linspace(0, 1, 14).expand(1, 1, 14, 14)
style = (torch.arange(14) % 4 < 2).float().expand(1, 1, 14, 14)
result = transfer(StyleObjective(content, style), content, steps=24, lr=0.03)
print("range", round(result.min().item(), 3), round(result.max().item(), 3))
