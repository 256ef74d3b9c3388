import torch
import torch.nn as nn

torch.manual_seed(28)
torch.set_num_threads(1)


class SharedBottom(nn.Module):
    def __init__(self, d_in, tasks, width=32):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(d_in, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.towers = nn.ModuleDict({name: nn.Linear(width, n) for name, n in tasks.items()})

    def forward(self, x):
        h = self.bottom(x)
        return {name: tower(h) for name, tower in self.towers.items()}


TASKS = {"click": 2, "stars": 5, "minutes": 1}
CRITERIA = {"click": nn.CrossEntropyLoss(), "stars": nn.CrossEntropyLoss(), "minutes": nn.MSELoss()}
WEIGHTS = torch.tensor([1.0, 0.5, 0.2])


def make_data(n=400):
    x = torch.randn(n, 12)
    click = (x[:, 0] + x[:, 1] > 0).long()
    stars = (x[:, 2:5].sum(1) * 0.8 + 2).round().clamp(0, 4).long()
    minutes = (x[:, 5:8] ** 2).sum(1, keepdim=True)
    return x, {"click": click, "stars": stars, "minutes": minutes}


def main():
    x, targets = make_data()
    model = SharedBottom(12, TASKS)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(15):
        sums = torch.zeros(len(TASKS))
        for idx in torch.randperm(len(x)).split(50):
            out = model(x[idx])
            losses = []
            for name in TASKS:
                losses.append(CRITERIA[name](out[name], targets[name][idx]))
            losses = torch.tensor(losses)
            loss = (WEIGHTS * losses).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sums += losses.detach()
        if epoch % 7 == 0:
            print(f"epoch {epoch} loss {(WEIGHTS * sums).sum().item() / 8:.4f}", (sums / 8).tolist())


if __name__ == "__main__":
    main()
