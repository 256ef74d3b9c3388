"""Transfer learning: frozen backbone kept in eval mode, later unfrozen with its own learning rate."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Transfer(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.head = nn.Linear(16, classes)
        self.frozen = False

    def freeze(self):
        self.frozen = True
        for p in self.backbone.parameters():
            p.requires_grad = False
        return self

    def unfreeze(self):
        self.frozen = False
        for p in self.backbone.parameters():
            p.requires_grad = True

    def train(self, mode=True):
        super().train(mode)
        if self.frozen:
            self.backbone.eval()
        return self

    def forward(self, x):
        if self.frozen:
            with torch.no_grad():
                f = self.backbone(x)
        else:
            f = self.backbone(x)
        return self.head(f)


def main():
    torch.manual_seed(0)
    w = torch.randn(12, 3)
    model = Transfer().freeze()
    opt = torch.optim.SGD(model.head.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(8):
        if epoch == 4:
            model.unfreeze()
            opt.add_param_group({"params": list(model.backbone.parameters()), "lr": 0.01})
        model.train()
        total = 0.0
        for _ in range(10):
            x = torch.randn(64, 12)
            loss = F.cross_entropy(model(x), (x @ w).argmax(1))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        print(f"epoch {epoch} loss {total / 10:.4f}")
    return model


if __name__ == "__main__":
    main()
