import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)
torch.set_num_threads(1)
ACCUMULATE = 8


class TinyUNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.Conv2d(1, width, 3, padding=1)
        self.middle = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.Conv2d(2 * width, width, 3, padding=1)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        skip = F.relu(self.down(x))
        low = F.relu(self.middle(F.max_pool2d(skip, 2)))
        high = F.interpolate(low, scale_factor=2, mode="nearest")
        return self.out(F.relu(self.up(torch.cat([skip, high], dim=1))))


def patches(n):
    mask = torch.zeros(n, 1, 16, 16)
    for i in range(n):
        r, c = torch.randint(0, 9, (2,)).tolist()
        mask[i, 0, r:r + 7, c:c + 7] = 1.0
    return mask + 0.4 * torch.randn_like(mask), mask


loader = DataLoader(TensorDataset(*patches(48)), batch_size=8, shuffle=True)
model = TinyUNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", enabled=False)

optimizer.zero_grad()
for epoch in range(24):
    epoch_loss = 0.0
    for i, (image, mask) in enumerate(loader):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(image)
        loss = F.binary_cross_entropy_with_logits(logits.float(), mask)
        scaler.scale(loss / ACCUMULATE).backward()
        epoch_loss += loss.item()
        if (i + 1) % ACCUMULATE == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    if epoch % 6 == 0 or epoch == 23:
        print(f"epoch {epoch} loss {epoch_loss / len(loader):.4f}")
