import torch
import torch.nn as nn
import torch.nn.functional as F


class SmallResNet(nn.Module):
    def __init__(self, c=12, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(3, c, 3, padding=1)
        self.block = nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1))
        self.fc = nn.Linear(c, classes)

    def forward(self, x):
        h = self.stem(x)
        h = F.relu(h + self.block(h))
        return self.fc(h.mean((2, 3)))


def colour_patches(n):
    y = torch.randint(0, 3, (n,))
    x = 0.5 * torch.randn(n, 3, 12, 12)
    x[torch.arange(n), y] += 0.5
    return x, y


class MixedPrecision:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=256.0)

    def step(self, x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(x)
            loss = F.cross_entropy(logits.float(), y)
        self.opt.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward(retain_graph=True)
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.model.parameters(), 2.0)
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss, logits


def main():
    torch.manual_seed(61)
    runner = MixedPrecision(SmallResNet(), lr=0.05)
    for it in range(40):
        x, y = colour_patches(24)
        loss, logits = runner.step(x, y)
        if it % 10 == 9:
            acc = (logits.argmax(1) == y).float().mean().item()
            print(f"{it + 1}: loss {loss.item():.3f} acc {acc:.2f}")


if __name__ == "__main__":
    main()
