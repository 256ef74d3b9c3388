"""Mixed precision training loop with gradient clipping, plain SGD."""
import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast

torch.manual_seed(22)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 5, padding=2)
        self.fc = nn.Linear(8 * 16, 3)

    def forward(self, x):
        h = torch.relu(self.conv(x))
        return self.fc(torch.max_pool1d(h, 2).flatten(1))


def make_data(n=192):
    y = torch.randint(0, 3, (n,))
    t = torch.arange(32).float()
    freq = (y.float() + 1).unsqueeze(1) * 0.2
    return torch.sin(t * freq + torch.rand(n, 1)).unsqueeze(1) + 0.2 * torch.randn(n, 1, 32), y


def train_one_epoch(model, data, optimizer, scaler, max_norm):
    x, y = data
    total = 0.0
    for idx in torch.randperm(len(x)).split(32):
        optimizer.zero_grad(set_to_none=True)
        with autocast("cpu", dtype=torch.bfloat16):
            out = model(x[idx])
            loss = nn.functional.cross_entropy(out.float(), y[idx])
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    return total / 6


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = GradScaler("cpu")
data = make_data()
for epoch in range(10):
    avg = train_one_epoch(model, data, optimizer, scaler, max_norm=1.0)
    if epoch % 3 == 0:
        print(f"epoch {epoch}: loss {avg:.4f}")
