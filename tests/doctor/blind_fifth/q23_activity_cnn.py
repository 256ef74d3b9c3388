import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(17)
torch.set_num_threads(1)

N_CLASS, LENGTH = 6, 48


def windows(n):
    label = torch.randint(0, N_CLASS, (n,))
    t = torch.arange(LENGTH) / LENGTH
    f = 1.0 + label.float()
    x = torch.stack([torch.sin(6.28 * f[:, None] * t + p) for p in (0.0, 1.0, 2.0)], dim=1)
    return x + 1.5 * torch.randn(n, 3, LENGTH), label


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv1d(3, 16, 9, padding=4), nn.ReLU(), nn.MaxPool1d(2))
        self.conv2 = nn.Sequential(nn.Conv1d(16, 32, 9, padding=4), nn.ReLU(), nn.MaxPool1d(2))
        self.fc1 = nn.Linear(32 * 12, 64)
        self.fc2 = nn.Linear(64, N_CLASS)

    def forward(self, x):
        out = self.conv2(self.conv1(x)).flatten(1)
        out = F.relu(self.fc1(out))
        out = F.softmax(self.fc2(out), dim=1)
        return out


def train(network, optimizer, x, y, epochs=12):
    criterion = nn.CrossEntropyLoss()
    for e in range(epochs):
        network.train()
        correct, total_loss = 0, 0.0
        for xb, yb in zip(x.split(32), y.split(32)):
            output = network(xb)
            loss = criterion(output, yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total_loss += loss.item() * len(yb)
            correct += (output.argmax(1) == yb).sum().item()
        if e % 3 == 2:
            print(f"epoch {e} loss {total_loss / len(y):.4f} acc {correct / len(y):.3f}")


x, y = windows(480)
model = Network()
train(model, optim.SGD(model.parameters(), lr=0.01, momentum=0.9), x, y)
