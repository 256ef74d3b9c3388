import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(10)
torch.set_num_threads(1)


def load_data():
    x = torch.rand(500, 11)
    quality = 3 + 4 * x[:, 10] - 2 * x[:, 1] + x[:, 9] + 0.2 * torch.randn(500)
    return random_split(TensorDataset(x, quality.unsqueeze(1)), [400, 100])


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(11, 32), nn.BatchNorm1d(32), nn.ReLU(),
            nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1),
        )

    def forward(self, x):
        return self.layers(x)


def fit(model, train_set, valid_set, epochs=8):
    loader = DataLoader(train_set, batch_size=50, shuffle=True)
    valid = DataLoader(valid_set, batch_size=100)
    optimizer = optim.Adam(model.parameters(), lr=0.02)
    loss_fn = nn.MSELoss()
    for epoch in range(epochs):
        model.train()
        train_loss = 0.0
        for xb, yb in loader:
            pred = model(xb)
            loss = loss_fn(pred, yb)
            loss.backward()
            optimizer.zero_grad()
            optimizer.step()
            train_loss += loss.item()
        model.eval()
        with torch.no_grad():
            valid_loss = sum(loss_fn(model(xb), yb).item() for xb, yb in valid)
        print(f"epoch {epoch}: train {train_loss / len(loader):.3f} valid {valid_loss:.3f}")
    return model


train_set, valid_set = load_data()
fit(Regressor(), train_set, valid_set)
