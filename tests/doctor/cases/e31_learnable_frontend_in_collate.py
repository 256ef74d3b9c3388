"""Bird calls: a trainable filter bank turns waveforms into features while batches are collated."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Calls(Dataset):
    def __init__(self, count=24, samples=128):
        t = torch.arange(samples) / samples
        self.kind = torch.arange(count) % 3
        self.waves = torch.sin(2 * torch.pi * (6 + 5 * self.kind[:, None]) * t)
        self.waves += 0.3 * torch.randn(count, samples, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return self.waves[i], self.kind[i]


class FilterBank(nn.Module):
    def __init__(self, filters=8, taps=17):
        super().__init__()
        self.bank = nn.Conv1d(1, filters, taps, stride=4, bias=False)
        self.floor = nn.Parameter(torch.tensor(-4.0))

    @torch.no_grad()
    def collate(self, samples):
        waves, kinds = zip(*samples)
        return self(torch.stack(waves)), torch.stack(kinds)

    def forward(self, waves):
        energy = self.bank(waves[:, None]).square().mean(-1)
        return (energy + self.floor.exp()).log()


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.frontend = FilterBank()
        self.head = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))


torch.manual_seed(0)
model = Classifier()
loader = DataLoader(Calls(), batch_size=8, collate_fn=model.frontend.collate)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    right = 0
    for features, kind in loader:
        logits = model.head(features)
        loss = nn.functional.cross_entropy(logits, kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (logits.argmax(1) == kind).sum().item()
    print(epoch, f"{loss.item():.4f}", right)
