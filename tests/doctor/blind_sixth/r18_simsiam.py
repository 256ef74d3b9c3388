import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SimSiam(nn.Module):
    def __init__(self, dim_in=16, dim=32, bottleneck=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(dim_in, 64), nn.ReLU(),
            nn.Linear(64, dim),
        )
        self.predictor = nn.Sequential(nn.Linear(dim, bottleneck), nn.ReLU(), nn.Linear(bottleneck, dim))

    def forward(self, a, b):
        z1, z2 = self.encoder(a), self.encoder(b)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1, z2


def criterion(p1, p2, z1, z2):
    return -0.5 * (F.cosine_similarity(p1, z2, dim=1).mean() + F.cosine_similarity(p2, z1, dim=1).mean())


def augment(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return x * keep + 0.1 * torch.randn_like(x)


def spread(z):
    """Standard deviation of the unit vectors; about 1/sqrt(d) when they fill the sphere."""
    return F.normalize(z, dim=1).std(0).mean().item()


centers = torch.randn(10, 16)
x = centers[torch.randint(0, 10, (512,))] + 0.3 * torch.randn(512, 16)
model = SimSiam()
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

for epoch in range(20):
    for idx in torch.randperm(512).split(128):
        loss = criterion(*model(augment(x[idx]), augment(x[idx])))
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            print(f"epoch {epoch + 1} loss {loss.item():.4f} spread {spread(model.encoder(x)):.4f}")
