import torch
import torch.nn as nn

torch.manual_seed(40)
torch.set_num_threads(1)


class ListingModel(nn.Module):
    """One trunk, two heads: price (regression) and kind of home (classes)."""

    def __init__(self, features, kinds):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.price = nn.Linear(32, 1)
        self.kind = nn.Linear(32, kinds)

    def forward(self, x):
        z = self.trunk(x)
        return self.price(z).squeeze(-1), self.kind(z)


class Trainer:
    def __init__(self, model, lr=5e-3):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.price_loss = nn.MSELoss()
        self.kind_loss = nn.CrossEntropyLoss()

    def step(self, x, price, kind):
        self.opt.zero_grad()
        price_hat, kind_hat = self.model(x)
        loss_p = self.price_loss(price_hat, price)
        loss_k = self.kind_loss(kind_hat, kind)
        loss_p.backward()
        loss_k.backward()
        self.opt.step()
        return loss_p.item(), loss_k.item()

    def fit(self, data, epochs):
        for epoch in range(epochs):
            sums = [0.0, 0.0]
            for batch in data:
                p, k = self.step(*batch)
                sums[0] += p
                sums[1] += k
            print(f"{epoch}: price {sums[0] / len(data):.3f} kind {sums[1] / len(data):.3f}")


def batches(n):
    out = []
    for _ in range(n):
        x = torch.randn(40, 8)
        out.append((x, x[:, 0] - 2 * x[:, 3], x[:, 4:7].argmax(dim=1)))
    return out


Trainer(ListingModel(8, 3)).fit(batches(20), epochs=6)
