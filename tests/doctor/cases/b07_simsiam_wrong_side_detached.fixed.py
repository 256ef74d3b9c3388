import torch
import torch.nn as nn
import torch.nn.functional as F


class SimSiam(nn.Module):
    def __init__(self, dim=12, hidden=32, out=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, out)
        )
        self.predictor = nn.Sequential(nn.Linear(out, 8), nn.ReLU(), nn.Linear(8, out))

    def forward(self, first, second):
        z1, z2 = self.encoder(first), self.encoder(second)
        return self.predictor(z1), self.predictor(z2), z1, z2


def distance(p, z):
    """Negative cosine similarity with a stop-gradient."""
    z = z.detach()
    return -F.cosine_similarity(p, z, dim=1).mean()


def augment(x):
    return x + 0.2 * torch.randn_like(x)


def train(model, data, epochs=20, lr=0.05):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)
    history = []
    for _ in range(epochs):
        p1, p2, z1, z2 = model(augment(data), augment(data))
        loss = distance(p1, z2) / 2 + distance(p2, z1) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return history


torch.manual_seed(0)
curve = train(SimSiam(), torch.randn(64, 12))
print("first", round(curve[0], 4), "last", round(curve[-1], 4))
