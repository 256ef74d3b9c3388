import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.body = nn.Conv2d(8, 16, 3, stride=2, padding=1)

    def forward(self, img):
        return F.relu(self.body(F.relu(self.stem(img))))


class Classifier(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.backbone.requires_grad_(False)
        self.head = nn.Linear(16, classes)
        self.maps = None
        self.map_grad = None

    def remember(self, grad):
        self.map_grad = grad

    def forward(self, img, explain=False):
        maps = self.backbone(img)
        if explain:
            self.maps = maps.detach()
            maps.register_hook(self.remember)
        return self.head(maps.mean(dim=(2, 3)))


def heatmap(model, img, label):
    score = model(img, explain=True)[:, label].sum()
    score.backward()
    weights = model.map_grad.mean(dim=(2, 3), keepdim=True)
    return F.relu((weights * model.maps).sum(1))


model = Classifier(Backbone(), 4)
imgs = torch.rand(32, 3, 16, 16)
labels = imgs.mean(dim=(2, 3)).argmax(1)
opt = torch.optim.Adam(model.head.parameters(), lr=0.05)
for _ in range(30):
    loss = F.cross_entropy(model(imgs), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("train loss", round(loss.item(), 4))
cam = heatmap(model, imgs[:2], label=1)
print("heat map", tuple(cam.shape), "peak", round(cam.max().item(), 4))
