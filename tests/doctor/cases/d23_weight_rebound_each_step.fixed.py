import torch

torch.manual_seed(0)

# logistic regression without nn and optim
n, d = 100, 3
X = torch.randn(n, d)
true = torch.tensor([1.5, -2.0, 0.5])
y = (X @ true + 0.3 > 0).float()

w = torch.zeros(d, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.5


def predict(X, w, b):
    return torch.sigmoid(X @ w + b)


def cross_entropy(p, y):
    p = p.clamp(1e-6, 1 - 1e-6)
    return -(y * p.log() + (1 - y) * (1 - p).log()).mean()


for step in range(20):
    loss = cross_entropy(predict(X, w, b), y)
    loss.backward()

    with torch.no_grad():
        w -= lr * w.grad
        b -= lr * b.grad
    w.grad = b.grad = None

    if step % 5 == 0:
        accuracy = ((predict(X, w, b) > 0.5).float() == y).float().mean()
        print(step, round(loss.item(), 4), round(accuracy.item(), 3))
