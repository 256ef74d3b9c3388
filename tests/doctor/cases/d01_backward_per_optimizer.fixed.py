import torch
from torch import nn, optim

torch.manual_seed(3)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 6))

    def forward(self, x):
        return self.layers(x)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, z):
        return self.fc(z)


encoder = Encoder()
classifier = Classifier()
optimizers = [
    optim.Adam(encoder.parameters(), lr=1e-3),
    optim.SGD(classifier.parameters(), lr=1e-2, momentum=0.9),
]
criterion = nn.CrossEntropyLoss()

X = torch.randn(96, 12)
Y = (X[:, 0] > 0).long() + (X[:, 1] > 0).long()

for epoch in range(3):
    running = 0.0
    for start in range(0, len(X), 32):
        xb, yb = X[start:start + 32], Y[start:start + 32]
        logits = classifier(encoder(xb))
        loss = criterion(logits, yb)
        # each part has its own optimizer
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: {running / 3:.4f}")
