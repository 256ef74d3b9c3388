import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2))
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(6 * 9, 4)

    def forward(self, x):
        return self.head(self.drop(self.body(x).flatten(1)))


def train_one_epoch(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = seen = 0
    for images, labels in loader:
        correct += (model(images).argmax(1) == labels).sum().item()
        seen += len(labels)
    return correct / seen


def main():
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    labels = torch.randint(0, 4, (160,), generator=generator)
    images = torch.randn(160, 1, 8, 8, generator=generator) * 0.3
    images[torch.arange(160), 0, 2 * (labels // 2) + 1, 2 * (labels % 2) + 1] += 3.0
    train_set, valid_set = random_split(TensorDataset(images, labels), [128, 32], generator)
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    valid_loader = DataLoader(valid_set, batch_size=32)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(4):
        loss = train_one_epoch(model, train_loader, optimizer, criterion)
        accuracy = evaluate(model, valid_loader)
        print(f"epoch {epoch} loss {loss:.3f} accuracy {accuracy:.2f}")


if __name__ == "__main__":
    main()
