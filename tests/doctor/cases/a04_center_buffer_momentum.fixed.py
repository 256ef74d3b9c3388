import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class CenteredHead(nn.Module):
    """Projects features and pulls them towards a slowly moving centre per class."""

    def __init__(self, in_dim, out_dim, classes, momentum=0.8):
        super().__init__()
        self.momentum = momentum
        self.proj = nn.Sequential(nn.Linear(in_dim, 32), nn.GELU(), nn.Linear(32, out_dim))
        self.register_buffer("centers", torch.zeros(classes, out_dim))

    @torch.no_grad()
    def update_centers(self, z, labels):
        onehot = F.one_hot(labels, self.centers.size(0)).to(z.dtype)
        sums = onehot.t() @ z
        counts = onehot.sum(0).clamp(min=1.0).unsqueeze(1)
        seen = (onehot.sum(0) > 0).unsqueeze(1)
        moved = self.momentum * self.centers + (1 - self.momentum) * sums / counts
        self.centers = torch.where(seen, moved, self.centers)

    def forward(self, x, labels):
        z = self.proj(x)
        self.update_centers(z, labels)
        return z, F.mse_loss(z, self.centers[labels])


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 24), nn.ReLU())
        self.head = CenteredHead(24, 6, classes=3)
        self.logits = nn.Linear(6, 3)

    def forward(self, x, labels):
        z, pull = self.head(self.body(x), labels)
        return self.logits(z), pull


x = torch.randn(96, 10)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long()
loader = DataLoader(
    TensorDataset(x, y), batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(1)
)

model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    total, correct = 0.0, 0
    for xb, yb in loader:
        logits, pull = model(xb, yb)
        loss = F.cross_entropy(logits, yb) + 0.1 * pull
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        correct += (logits.argmax(1) == yb).sum().item()
    print(f"epoch {epoch} loss {total / len(loader):.4f} acc {correct / len(x):.2f}")
