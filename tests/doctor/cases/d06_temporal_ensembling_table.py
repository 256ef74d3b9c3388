import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
CLASSES = 4


def build_data(n=48):
    x = torch.randn(n, 9)
    y = x[:, :CLASSES].argmax(1)
    labelled = torch.rand(n) < 0.5
    return TensorDataset(torch.arange(n), x, y, labelled)


def noisy(x):
    return x + 0.1 * torch.randn_like(x)


def ramp_up(epoch, length=5):
    return min(1.0, (epoch + 1) / length)


def fit(epochs=3, momentum=0.6):
    dataset = build_data()
    loader = DataLoader(dataset, batch_size=16)
    model = nn.Sequential(nn.Linear(9, 24), nn.ReLU(), nn.Linear(24, CLASSES))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    ensemble = torch.zeros(len(dataset), CLASSES)
    for epoch in range(epochs):
        total = 0.0
        for index, x, y, known in loader:
            probs = F.softmax(model(noisy(x)), dim=1)
            target = ensemble[index] / (1 - momentum ** max(epoch, 1))
            supervised = F.nll_loss(probs[known].clamp_min(1e-6).log(), y[known])
            consistency = F.mse_loss(probs, target)
            loss = supervised + ramp_up(epoch) * consistency
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ensemble[index] = momentum * ensemble[index] + (1 - momentum) * probs
            total += loss.item()
        print(f"epoch {epoch}  loss {total / len(loader):.4f}")


fit()
