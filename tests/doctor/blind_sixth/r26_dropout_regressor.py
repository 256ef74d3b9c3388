import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(
            nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5),
            nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.5),
            nn.Linear(64, 2))

    def forward(self, x):
        return self.seq(x)


class Experiment:
    def __init__(self, epochs=30, batch=20):
        g = torch.Generator().manual_seed(1)
        x = torch.randn(700, 20, generator=g) + 1.5
        flip = torch.rand(700, generator=g) < 0.2
        y = ((x[:, 0] - 1.5 > 0) ^ flip).long()
        self.train_set, self.valid_set = (x[:100], y[:100]), (x[100:], y[100:])
        self.epochs, self.batch = epochs, batch
        self.model = Net()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.crit = nn.CrossEntropyLoss()

    def train_epoch(self):
        x, y = self.train_set
        total = 0.0
        for idx in torch.randperm(len(x)).split(self.batch):
            self.opt.zero_grad()
            loss = self.crit(self.model(x[idx]), y[idx])
            loss.backward()
            self.opt.step()
            total += loss.item() * len(idx)
        return total / len(x)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        x, y = self.valid_set
        out = self.model(x)
        return self.crit(out, y).item(), (out.argmax(1) == y).float().mean().item()

    def run(self):
        self.model.train()
        for epoch in range(self.epochs):
            train_loss = self.train_epoch()
            valid_loss, acc = self.evaluate()
            if epoch % 10 == 9:
                print(f"{epoch + 1}: train {train_loss:.3f} valid {valid_loss:.3f} acc {acc:.3f}")


exp = Experiment()
exp.run()
