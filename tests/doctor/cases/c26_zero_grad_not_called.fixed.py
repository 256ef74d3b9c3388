import torch
import torch.nn as nn
import torch.nn.functional as F


class SpeechCommand(nn.Module):
    def __init__(self, feats=10, classes=5):
        super().__init__()
        self.conv = nn.Conv1d(feats, 16, 5, stride=2)
        self.gru = nn.GRU(16, 16, batch_first=True)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        h = F.relu(self.conv(x)).transpose(1, 2)
        _, last = self.gru(h)
        return self.fc(last[-1])


class Learner:
    def __init__(self, model, lr=0.01, label_smoothing=0.0):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.8)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, lr * 2, total_steps=8)
        self.smoothing = label_smoothing

    def fit_one_batch(self, x, y):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y, label_smoothing=self.smoothing)
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss.item()


def utterances(n, classes=5):
    g = torch.Generator().manual_seed(17)
    for _ in range(n):
        y = torch.randint(0, classes, (8,), generator=g)
        x = torch.randn(8, 10, 25, generator=g)
        x[torch.arange(8), y] += 1.0
        yield x, y


def main():
    torch.manual_seed(0)
    learner = Learner(SpeechCommand(), label_smoothing=0.05)
    for step, (x, y) in enumerate(utterances(8)):
        print(step, round(learner.fit_one_batch(x, y), 4))


if __name__ == "__main__":
    main()
