import torch
import torch.nn as nn


class Meter:
    def __init__(self):
        self.sum, self.n = 0, 0

    def update(self, value, k):
        self.sum = self.sum + value * k
        self.n += k

    @property
    def avg(self):
        return self.sum / self.n


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.optim = torch.optim.Adam(model.parameters(), lr=lr)
        self.crit = nn.CrossEntropyLoss()
        self.history = {"train": [], "val": []}

    def train_epoch(self, x, y, bs=64):
        self.model.train()
        meter = Meter()
        for xb, yb in zip(x.split(bs), y.split(bs)):
            loss = self.crit(self.model(xb), yb)
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()
            meter.update(loss.item(), len(xb))
        self.history["train"].append(meter.avg)

    def validate(self, x, y, bs=64):
        self.model.eval()
        meter = Meter()
        for xb, yb in zip(x.split(bs), y.split(bs)):
            loss = self.crit(self.model(xb), yb)
            meter.update(loss, len(xb))
        self.history["val"].append(meter.avg)

    def fit(self, train, val, epochs):
        for e in range(epochs):
            self.train_epoch(*train)
            self.validate(*val)
            print(f"epoch {e} loss {self.history['train'][-1]:.4f} val {self.history['val'][-1]:.4f}")


def data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 32, generator=g)
    return x, (x[:, :4].sum(1) > 0).long() + (x[:, 4:8].sum(1) > 0).long()


torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 3))
trainer = Trainer(net)
trainer.fit(data(1024, 0), data(4096, 1), epochs=8)
