"""'Free' adversarial training: the same backward pass updates the weights and the perturbation."""
import torch
import torch.nn as nn
import torch.nn.functional as F

EPS, REPLAYS, BATCH = 0.2, 4, 48

torch.manual_seed(0)
proto = torch.randn(4, 20)


def batch():
    y = torch.randint(0, 4, (BATCH,))
    return proto[y] + 0.4 * torch.randn(BATCH, 20), y


net = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
delta = torch.zeros(BATCH, 20, requires_grad=True)

for it in range(30):
    x, y = batch()
    for _ in range(REPLAYS):
        opt.zero_grad()
        loss = F.cross_entropy(net(x + delta), y)
        loss.backward()
        grad = delta.grad.detach()
        delta.data = (delta.data + EPS * grad.sign()).clamp(-EPS, EPS)
        delta.grad.zero_()
        opt.step()
    if it % 10 == 0:
        print(f"{it}: adversarial loss {loss.item():.4f}")


def evaluate(n=5):
    hits = 0
    net.eval()
    with torch.no_grad():
        for _ in range(n):
            x, y = batch()
            hits += (net(x).argmax(1) == y).sum().item()
    net.train()
    return hits / (n * BATCH)


print("clean accuracy", evaluate())
