import torch
import torch.nn as nn
import torch.nn.functional as F


class FineTuner(nn.Module):
    def __init__(self, backbone, width, classes):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(width, classes)
        self.freeze()

    def freeze(self):
        for p in self.backbone.parameters():
            p.requires_grad = False

    def unfreeze(self):
        for p in self.backbone.parameters():
            p.requires_grad = True

    def forward(self, x):
        with torch.no_grad():
            feats = self.backbone(x)
        return self.head(F.relu(feats))


def pretrained_backbone(d, width):
    net = nn.Sequential(nn.Linear(d, width), nn.ReLU(), nn.Linear(width, width))
    x = torch.randn(256, d)
    target = torch.cat([x, x.abs()], 1)[:, :width]
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(30):
        opt.zero_grad()
        F.mse_loss(net(x), target).backward()
        opt.step()
    return net


def run_phase(model, x, y, lr, epochs):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(64):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(37)
    x = torch.randn(384, 12)
    y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] * x[:, 3] > 0).long()
    model = FineTuner(pretrained_backbone(12, 20), 20, 3)
    print("head only", round(run_phase(model, x, y, 1e-2, 5), 3))
    model.unfreeze()
    print("all layers", round(run_phase(model, x, y, 5e-3, 40), 3))
