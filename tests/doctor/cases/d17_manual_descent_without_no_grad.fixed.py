import math

import torch

torch.manual_seed(0)
LEARNING_RATE = 1e-2


class Layer:
    def __init__(self, n_in, n_out):
        bound = 1 / math.sqrt(n_in)
        self.W = torch.empty(n_in, n_out).uniform_(-bound, bound).requires_grad_()
        self.b = torch.zeros(n_out, requires_grad=True)

    def __call__(self, x):
        return x @ self.W + self.b

    def parameters(self):
        return [self.W, self.b]


class Net:
    def __init__(self, *sizes):
        self.layers = [Layer(a, b) for a, b in zip(sizes, sizes[1:])]

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = layer(x).relu()
        return self.layers[-1](x)

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]

    def update(self, lr):
        for p in self.parameters():
            with torch.no_grad():
                p -= lr * p.grad
            p.grad = None


x = torch.linspace(-3, 3, 60).unsqueeze(1)
y = torch.sin(x)
net = Net(1, 16, 16, 1)

for epoch in range(50):
    prediction = net(x)
    loss = ((prediction - y) ** 2).mean()
    loss.backward()
    net.update(LEARNING_RATE)
    if epoch % 10 == 0:
        print(epoch, loss.item())
