import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 40)
        self.fc2 = nn.Linear(40, 3)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


data = torch.randn(64, 10)
target = data[:, :3].argmax(1)
loader = DataLoader(TensorDataset(data, target), batch_size=4)

model = MLP()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulation_steps = 4

for epoch in range(2):
    total = 0.0
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.item() * accumulation_steps
    print(f"epoch {epoch}, mean loss {total / len(loader):.4f}")
