# Linear probe on top of features of a frozen encoder; the features are computed once and cached.
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)


def make_encoder():
    return nn.Sequential(
        nn.Conv1d(1, 8, 5, stride=2), nn.BatchNorm1d(8), nn.ReLU(),
        nn.Conv1d(8, 16, 5, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool1d(4), nn.Flatten(),
    )


def make_signals(n):
    t = torch.linspace(0, 1, 64)
    label = torch.randint(0, 3, (n,))
    freq = torch.tensor([2.0, 5.0, 9.0])[label].unsqueeze(1)
    sig = torch.sin(6.2832 * freq * t + 6.28 * torch.rand(n, 1)) + 0.2 * torch.randn(n, 64)
    return sig.unsqueeze(1), label


@torch.inference_mode()
def extract(encoder, loader):
    encoder.eval()
    feats, labels = [], []
    for x, y in loader:
        feats.append(encoder(x))
        labels.append(y)
    return torch.cat(feats), torch.cat(labels)


def train_probe(feats, labels, epochs=5):
    probe = nn.Linear(feats.size(1), 3)
    opt = torch.optim.SGD(probe.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(epochs):
        for xb, yb in zip(feats.split(32), labels.split(32)):
            loss = nn.functional.cross_entropy(probe(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")
    return probe


signals, targets = make_signals(192)
loader = DataLoader(TensorDataset(signals, targets), batch_size=64)
encoder = make_encoder()
features, labels = extract(encoder, loader)
print("features", tuple(features.shape))
probe = train_probe(features, labels)
