import torch
import torch.nn as nn
import torch.nn.functional as F


class Backbone(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(1, c, 5, stride=2), nn.ReLU(),
            nn.Conv1d(c, 2 * c, 5, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool1d(4), nn.Flatten())

    def forward(self, x):
        return self.body(x)


class FeatureBank:
    """Runs the backbone once over the data and serves the features."""

    def __init__(self, backbone, signals, labels):
        self.labels = labels
        self.features = self._extract(backbone.eval(), signals)

    @torch.inference_mode()
    def _extract(self, backbone, signals):
        out = []
        for part in signals.split(64):
            out.append(backbone(part))
        feats = torch.cat(out)
        mean = feats.mean(0, keepdim=True)
        return (feats - mean) / (feats.std(0, keepdim=True) + 1e-6)

    def epoch(self, size=64):
        for start in range(0, len(self.labels), size):
            yield self.features[start:start + size], self.labels[start:start + size]


def make_signals(n, gen):
    y = torch.randint(0, 2, (n,), generator=gen)
    t = torch.linspace(0, 6.28, 64)
    freq = torch.where(y == 0, 2.0, 5.0)[:, None]
    return (torch.sin(freq * t) + 0.4 * torch.randn(n, 64, generator=gen)).unsqueeze(1), y


if __name__ == "__main__":
    torch.manual_seed(2)
    x, y = make_signals(256, torch.Generator().manual_seed(2))
    bank = FeatureBank(Backbone(), x, y)
    probe = nn.Linear(64, 2)
    opt = torch.optim.Adam(probe.parameters(), lr=0.01)
    for epoch in range(10):
        correct = 0
        for feats, labels in bank.epoch():
            logits = probe(feats)
            loss = F.cross_entropy(logits, labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            correct += (logits.argmax(1) == labels).sum().item()
    print("probe accuracy", correct / 256)
