"""Fine-tune a small 'pretrained' network on a new 5-class problem."""
import torch
from torch import nn, optim

torch.manual_seed(1)


class SmallNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Linear(20, 64), nn.ReLU(),
            nn.Linear(64, 32), nn.ReLU(),
        )
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def load_pretrained():
    net = SmallNet(10)
    g = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.15)
    return net


CONFIG = dict(lr=5e-3, epochs=40, freeze=True, classes=5)

centers = torch.randn(CONFIG["classes"], 20) * 1.5
labels = torch.randint(0, CONFIG["classes"], (400,))
data = centers[labels] + torch.randn(400, 20)

model = load_pretrained()
if CONFIG["freeze"]:
    for p in model.features.parameters():
        p.requires_grad = False

optimizer = optim.Adam(model.parameters(), lr=CONFIG["lr"])
criterion = nn.CrossEntropyLoss()

# the new problem has other classes, so swap the classifier
model.fc = nn.Linear(model.fc.in_features, CONFIG["classes"])

for epoch in range(CONFIG["epochs"]):
    order = torch.randperm(len(data))
    total = 0.0
    for idx in order.split(50):
        optimizer.zero_grad()
        loss = criterion(model(data[idx]), labels[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 10 == 0 or epoch == CONFIG["epochs"] - 1:
        acc = (model(data).argmax(1) == labels).float().mean().item()
        print(f"epoch {epoch:2d} loss {total / len(data):.4f} acc {acc:.3f}")
