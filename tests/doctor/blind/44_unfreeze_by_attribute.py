import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(76)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 16, 5, padding=2)
        self.gru = nn.GRU(16, 24, batch_first=True)

    def forward(self, x):
        h = F.relu(self.conv(x)).transpose(1, 2)
        return self.gru(h)[1][0]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x):
        return self.head(self.encoder(x))

    def freeze_encoder(self):
        for p in self.encoder.parameters():
            p.requires_grad = False

    def unfreeze_encoder(self):
        self.encoder.requires_grad = True


def gestures(n=48, t=20):
    y = torch.randint(0, 4, (n,))
    time = torch.linspace(0, 6.28, t)
    base = torch.stack([torch.sin(time), torch.cos(time), time / 6.28])
    x = torch.roll(base, 1, 0).repeat(n, 1, 1) * (0.5 + 0.5 * y.float())[:, None, None]
    return x + 0.3 * torch.randn(n, 3, t), y


def run(model, opt, steps, tag):
    for s in range(steps):
        x, y = gestures()
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        x, y = gestures(300)
        acc = (model(x).argmax(1) == y).float().mean().item()
    print(f"{tag}: loss {loss.item():.3f} acc {acc:.3f}")


model = Classifier()
model.freeze_encoder()
run(model, torch.optim.Adam(model.head.parameters(), lr=1e-2), 30, "head only")

model.unfreeze_encoder()
opt = torch.optim.Adam([{"params": model.encoder.parameters(), "lr": 3e-3},
                        {"params": model.head.parameters(), "lr": 3e-3}])
for k in range(3):
    run(model, opt, 30, f"whole model {k}")
