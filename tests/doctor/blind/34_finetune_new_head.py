import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(65)


class Backbone(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16, n_out)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x)).mean((2, 3))
        return self.fc(x)


def textures(n, n_cls):
    y = torch.randint(0, n_cls, (n,))
    g = torch.arange(12).float()
    freq = 0.5 + 0.6 * y.float()
    img = torch.sin(freq[:, None, None] * g[None, :, None] + torch.rand(n, 1, 1) * 6.28).expand(n, 12, 12)
    return img.unsqueeze(1) + 0.2 * torch.randn(n, 1, 12, 12), y


def train(model, opt, n_cls, steps, tag):
    for step in range(steps):
        x, y = textures(32, n_cls)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(f"{tag} {step} loss {loss.item():.3f}")


# phase 1: pretrain on three classes
model = Backbone(3)
train(model, torch.optim.Adam(model.parameters(), lr=5e-3), 3, 40, "pretrain")

# phase 2: five classes, body with a small learning rate
body = [p for n, p in model.named_parameters() if not n.startswith("fc")]
optimizer = torch.optim.Adam([{"params": body, "lr": 1e-3},
                              {"params": model.fc.parameters(), "lr": 1e-2}])
model.fc = nn.Linear(16, 5)
nn.init.zeros_(model.fc.bias)
train(model, optimizer, 5, 60, "finetune")

model.eval()
with torch.no_grad():
    x, y = textures(300, 5)
    print("accuracy", (model(x).argmax(1) == y).float().mean().item())
