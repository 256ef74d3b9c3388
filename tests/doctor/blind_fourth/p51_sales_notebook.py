# %% imports
import torch
import torch.nn as nn

torch.manual_seed(3)
torch.set_num_threads(1)

# %% data: daily sales by weekday, promotion, and weather
n = 420
weekday = torch.arange(n) % 7
promo = (torch.rand(n) < 0.2).float()
temp = torch.sin(torch.arange(n) / 58.0) + 0.1 * torch.randn(n)
sales = 2.0 + 0.5 * (weekday >= 5).float() + 0.8 * promo + 0.4 * temp
X = torch.cat([nn.functional.one_hot(weekday, 7).float(), promo[:, None], temp[:, None]], dim=1)
Y = sales[:, None] + 0.05 * torch.randn(n, 1)

# %% model
net = nn.Sequential(nn.Linear(9, 20), nn.ReLU(), nn.Linear(20, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
criterion = nn.MSELoss()

# %% training
epoch_losses = []
batch = 60
for epoch in range(25):
    perm = torch.randperm(n)
    running_loss = 0
    for i in range(0, n, batch):
        idx = perm[i:i + batch]
        optimizer.zero_grad()
        out = net(X[idx])
        loss = criterion(out, Y[idx])
        running_loss += loss
        running_loss.backward()
        optimizer.step()
    epoch_losses.append(running_loss.item() / (n // batch))
    if epoch % 5 == 0:
        print("epoch", epoch, "loss", round(epoch_losses[-1], 4))

# %% check
print("first", epoch_losses[0], "last", epoch_losses[-1])
