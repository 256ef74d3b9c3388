import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(33)
torch.set_num_threads(1)


class CallNet(nn.Module):
    def __init__(self, n_species):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 8, 5, stride=2, padding=2)
        self.conv2 = nn.Conv1d(8, 16, 5, stride=2, padding=2)
        self.pool = nn.AdaptiveAvgPool1d(4)
        self.fc = nn.Linear(64, n_species)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        x = self.pool(x).flatten(1)
        return self.fc(x)


def synth(n):
    t = torch.linspace(0, 1, 64)
    species = torch.randint(0, 4, (n,))
    freq = (species.float() + 1) * 4
    wave = torch.sin(2 * torch.pi * freq[:, None] * t + torch.rand(n, 1) * 6.28)
    return (wave + 0.2 * torch.randn(n, 64)).unsqueeze(1), species


net = CallNet(4)
criterion = nn.MSELoss()
optimizer = optim.Adam(net.parameters(), lr=5e-3)

for epoch in range(20):
    correct = total = 0
    for _ in range(5):
        inputs, labels = synth(64)
        optimizer.zero_grad()
        outputs = net(inputs)
        predicted = outputs.argmax(dim=1).float()
        loss = criterion(predicted, labels.float())
        loss.backward()
        optimizer.step()
        correct += (predicted == labels).sum().item()
        total += len(labels)
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "loss", round(loss.item(), 3), "accuracy", correct / total)
