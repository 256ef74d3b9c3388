import torch
import torch.nn as nn

torch.manual_seed(0)
K = 4
X = torch.randn(80, 6)
Y = X @ torch.arange(1.0, 7.0).unsqueeze(1) / 6 + 0.1 * torch.randn(80, 1)


def new_model():
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))


def folds(n, k):
    order = torch.randperm(n)
    size = n // k
    for i in range(k):
        val = order[i * size:(i + 1) * size]
        train = torch.cat([order[: i * size], order[(i + 1) * size:]])
        yield train, val


model = new_model()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scores = []

for fold, (train, val) in enumerate(folds(len(X), K)):
    model = new_model()  # start from fresh weights
    model.train()
    for epoch in range(5):
        for rows in train.split(20):
            optimizer.zero_grad()
            loss = loss_fn(model(X[rows]), Y[rows])
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        scores.append(loss_fn(model(X[val]), Y[val]).item())
    print(f"fold {fold}: validation mse {scores[-1]:.4f}")

print("mean", sum(scores) / K)
