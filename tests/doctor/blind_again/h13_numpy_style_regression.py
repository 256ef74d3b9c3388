import torch

torch.manual_seed(2)
X = torch.randn(200, 3)
y = X @ torch.tensor([1.5, -2.0, 0.3]) + 0.7 + 0.05 * torch.randn(200)

w = torch.zeros(3, requires_grad=True)
b = torch.zeros((), requires_grad=True)
velocity = {id(p): torch.zeros_like(p) for p in (w, b)}


def predict(x):
    return x @ w + b


def sgd(params, lr, mu=0.8):
    with torch.no_grad():
        for p in params:
            v = velocity[id(p)]
            v *= mu
            v += p.grad
            p -= lr * v
            p.grad = None


losses = []
for epoch in range(20):
    order = torch.randperm(len(X))
    for rows in order.split(50):
        loss = ((predict(X[rows]) - y[rows]) ** 2).mean()
        loss.backward()
        sgd((w, b), lr=0.05)
        losses.append(loss.detach())
mean = torch.stack(losses[-4:]).mean()
print("w", [round(v, 2) for v in w.tolist()], "b", round(b.item(), 2), "mse", round(mean.item(), 4))
