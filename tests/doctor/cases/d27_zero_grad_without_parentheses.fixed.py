import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self, n=12, code=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n, 8), nn.ReLU(), nn.Linear(8, code))
        self.decoder = nn.Sequential(nn.Linear(code, 8), nn.ReLU(), nn.Linear(8, n))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.MSELoss()
        self.history = []

    def train_step(self, batch):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(batch), batch)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, data, epochs, batch_size=16):
        for epoch in range(epochs):
            chunks = data[torch.randperm(len(data))].split(batch_size)
            mean = sum(self.train_step(c) for c in chunks) / len(chunks)
            self.history.append(mean)
            print(f"[{epoch:02d}] reconstruction {mean:.5f}")


if __name__ == "__main__":
    torch.manual_seed(8)
    basis = torch.randn(3, 12)
    samples = torch.randn(64, 3) @ basis
    Trainer(AutoEncoder()).fit(samples, epochs=3)
