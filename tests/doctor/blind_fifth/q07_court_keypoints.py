import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Keypoints(Dataset):
    def __init__(self, n, size=16, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.pts = torch.randint(2, size - 2, (n, 2), generator=g)
        self.size = size

    def __len__(self):
        return len(self.pts)

    def __getitem__(self, i):
        img = torch.zeros(1, self.size, self.size)
        x, y = self.pts[i]
        img[0, y - 1 : y + 2, x - 1 : x + 2] = 1.0
        return img, self.pts[i].float() / self.size


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU()
        )
        self.fc = nn.Linear(8 * 4 * 4, 2)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for img, pts in loader:
        out = model(img)
        loss = criterion(out, pts)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    return sum((model(i) - p).norm(dim=1).mean().item() for i, p in loader) / len(loader)


torch.manual_seed(0)
train_loader = DataLoader(Keypoints(256), batch_size=32, shuffle=True)
val_loader = DataLoader(Keypoints(64, seed=1), batch_size=32)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.MSELoss()

for epoch in range(8):
    tr = train_epoch(model, train_loader, criterion, optimizer)
    val = validate(model, val_loader)
    print(f"epoch {epoch} loss {tr:.5f} val_dist {val:.4f}")
