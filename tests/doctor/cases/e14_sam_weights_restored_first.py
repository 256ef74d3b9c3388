import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SharpnessAware:
    """Wraps a base optimiser: climb to the worst nearby point, take the gradient there, come back."""

    def __init__(self, params, base, rho=0.05, **options):
        self.params = list(params)
        self.base = base(self.params, **options)
        self.rho = rho
        self.offsets = []

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm()
        self.offsets = [p.grad * (self.rho / (norm + 1e-12)) for p in self.params]
        for p, offset in zip(self.params, self.offsets):
            p.add_(offset)

    @torch.no_grad()
    def come_back(self):
        for p, offset in zip(self.params, self.offsets):
            p.sub_(offset)

    def zero_grad(self):
        self.base.zero_grad()

    def step(self):
        self.base.step()


def fit(model, loader, optimizer, criterion, epochs=2):
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.climb()
            optimizer.zero_grad()
            worst = criterion(model(x), y)
            optimizer.come_back()
            worst.backward()
            optimizer.step()
        print(f"epoch {epoch}: worst-case loss {worst.item():.4f}")


def main():
    torch.manual_seed(12)
    x = torch.randn(64, 6)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(6, 20), nn.ELU(), nn.Linear(20, 2))
    loader = DataLoader(TensorDataset(x, y), batch_size=16)
    optimizer = SharpnessAware(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.1, momentum=0.9)
    fit(model, loader, optimizer, nn.CrossEntropyLoss())


main()
