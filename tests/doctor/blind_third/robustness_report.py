import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)


def make_split(n):
    x = torch.randn(n, 20)
    y = (x[:, :10].sum(1) > x[:, 10:].sum(1)).long()
    return x, y


def fgsm(model, x, y, eps):
    x = x.clone().requires_grad_(True)
    loss = F.cross_entropy(model(x), y)
    (g,) = torch.autograd.grad(loss, x)
    return (x + eps * g.sign()).detach()


@torch.no_grad()
def evaluate(model, x, y, eps=0.1):
    model.eval()
    clean = (model(x).argmax(1) == y).float().mean().item()
    attacked = fgsm(model, x, y, eps)
    robust = (model(attacked).argmax(1) == y).float().mean().item()
    return clean, robust


def train(model, x, y, epochs=25):
    opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    model.train()
    for _ in range(epochs):
        for i in range(0, len(x), 64):
            opt.zero_grad()
            F.cross_entropy(model(x[i:i + 64]), y[i:i + 64]).backward()
            opt.step()


model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 2))
train(model, *make_split(512))
clean, robust = evaluate(model, *make_split(256))
print(f"clean accuracy {clean:.3f}  under attack {robust:.3f}")
