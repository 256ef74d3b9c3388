import torch

num_samples, num_features = 120, 2

torch.manual_seed(0)
features = torch.randn(num_samples, num_features)
true_w = torch.randn(num_features, 1)
true_b = torch.randn(1)
labels = torch.mm(features, true_w) + true_b
labels = labels + 0.01 * torch.randn(labels.shape)


def data_iter(batch_size):
    order = torch.randperm(num_samples)
    for i in range(0, num_samples, batch_size):
        j = order[i:i + batch_size]
        yield features[j], labels[j]


def linreg(X, w, b):
    return torch.mm(X, w) + b


def squared_loss(y_hat, y):
    return ((y_hat - y) ** 2 / 2).mean()


def sgd(params, lr):
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad
            p.grad.zero_()


w = torch.normal(0, 0.01, size=(num_features, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)

for epoch in range(3):
    for X, y in data_iter(20):
        l = squared_loss(linreg(X, w, b), y)
        l.backward()
        sgd([w, b], 0.1)
    with torch.no_grad():
        print("epoch", epoch + 1, "loss", float(squared_loss(linreg(features, w, b), labels)))
print(w.flatten(), true_w.flatten())
