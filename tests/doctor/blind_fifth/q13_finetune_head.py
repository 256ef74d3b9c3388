import torch
import torch.nn as nn

torch.manual_seed(8)


class Net(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.classifier = nn.Linear(32, n_out)

    def forward(self, x):
        return self.classifier(self.features(x))


def make_task(n, classes, seed):
    g = torch.Generator().manual_seed(seed)
    proto = torch.randn(classes, 20, generator=g)
    y = torch.randint(0, classes, (n,), generator=g)
    return proto[y] + 0.8 * torch.randn(n, 20, generator=g), y


def fit(model, x, y, epochs, lr):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    lossf = nn.CrossEntropyLoss()
    for e in range(epochs):
        total = 0.0
        for xb, yb in zip(x.split(64), y.split(64)):
            opt.zero_grad()
            loss = lossf(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item()
        if e % 5 == 0 or e == epochs - 1:
            print(f"  epoch {e} loss {total / len(x.split(64)):.4f}")


print("pretraining")
model = Net(8)
fit(model, *make_task(512, 8, seed=0), epochs=10, lr=3e-3)

print("fine-tuning the head")
model.features.requires_grad = False
model.classifier = nn.Linear(32, 4)
before = model.features[0].weight.detach().clone()
fit(model, *make_task(128, 4, seed=1), epochs=15, lr=3e-3)
after = model.features[0].weight.detach()
print(f"features changed by {(after - before).abs().max().item():.5f}")
