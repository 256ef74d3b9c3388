import torch
from torch import nn
import torch.nn.functional as F
from pruning import MagnitudePruner


class TabularNet(nn.Module):
    def __init__(self, cards=(5, 7), numeric=4, width=20):
        super().__init__()
        self.cats = nn.ModuleList(nn.Embedding(c, 3) for c in cards)
        self.fc1 = nn.Linear(3 * len(cards) + numeric, width)
        self.fc2 = nn.Linear(width, 1)

    def forward(self, cats, nums):
        parts = [emb(cats[:, k]) for k, emb in enumerate(self.cats)]
        return self.fc2(F.relu(self.fc1(torch.cat([*parts, nums], 1)))).squeeze(-1)


def rows(n, gen):
    cats = torch.stack([torch.randint(0, c, (n,), generator=gen) for c in (5, 7)], 1)
    nums = torch.randn(n, 4, generator=gen)
    return cats, nums, nums[:, 0] + 0.2 * cats[:, 1]


def main(epochs=4, per_epoch=3):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = TabularNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    pruner = MagnitudePruner([model.fc1, model.fc2], start_epoch=2, amount=0.3)
    for epoch in range(epochs):
        if pruner.on_epoch_start(epoch):
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(per_epoch):
            cats, nums, y = rows(32, gen)
            loss = F.mse_loss(model(cats, nums), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, round(loss.item(), 4), f"sparsity {pruner.sparsity():.2f}")


if __name__ == "__main__":
    main()
