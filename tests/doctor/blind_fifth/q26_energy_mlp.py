import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(77)
torch.set_num_threads(1)

# hour, temperature, occupancy -> consumption
raw = torch.rand(600, 3)
target = 2 * torch.sin(6.28 * raw[:, 0]) + 3 * raw[:, 1] * raw[:, 2]
target = (target - target.mean()) / target.std()

train_set, test_set = random_split(TensorDataset(raw, target), [480, 120], generator=torch.Generator().manual_seed(0))
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
test_loader = DataLoader(test_set, batch_size=120)


class MLP(nn.Module):
    def __init__(self, n_in=3, width=48):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_in, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.layers(x)


mlp = MLP()
loss_function = nn.MSELoss()
optimizer = torch.optim.Adam(mlp.parameters(), lr=3e-3)

for epoch in range(25):
    current = 0.0
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        outputs = mlp(inputs)
        loss = loss_function(outputs, targets)
        loss.backward()
        optimizer.step()
        current += loss.item()
    if epoch % 8 == 0:
        print(f"epoch {epoch} loss {current / len(train_loader):.4f}")

with torch.no_grad():
    for inputs, targets in test_loader:
        pred = mlp(inputs).squeeze(1)
        r2 = 1 - ((pred - targets) ** 2).sum() / ((targets - targets.mean()) ** 2).sum()
print(f"test r2 {r2:.3f}")
