import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)

# toy regression data
N = 48
x_all = torch.rand(N, 4) * 2 - 1
y_all = (x_all ** 2).sum(1, keepdim=True) + 0.05 * torch.randn(N, 1)

net = nn.Sequential(
    nn.Linear(4, 20),
    nn.Sigmoid(),
    nn.Linear(20, 20),
    nn.Sigmoid(),
    nn.Linear(20, 1),
)
loss_fn = nn.MSELoss()
optimizer = optim.SGD(net.parameters(), lr=0.05)
batch_size = 8

for epoch in range(4):
    perm = torch.randperm(N)
    epoch_loss = 0.0
    for b in range(0, N, batch_size):
        idx = perm[b:b + batch_size]
        inputs, targets = x_all[idx], y_all[idx]
        optimizer.zero_grad()
        outputs = net(inputs)
        # go through the batch one sample at a time
        total = 0.0
        for i in range(len(outputs)):
            loss = loss_fn(outputs[i], targets[i])
            total = total + loss
            epoch_loss += loss.item()
        total.backward()
        optimizer.step()
    print("epoch", epoch, "loss", epoch_loss / N)
