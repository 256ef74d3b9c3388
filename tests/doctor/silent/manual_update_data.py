import torch
x = torch.randn(20, 3)
w = torch.randn(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
def train(epochs):
    for epoch in range(epochs):
        loss = (x @ w + b - 1).pow(2).mean()
        loss.backward()
        for p in (w, b):
            p.data = p.data - 0.1 * p.grad.data  # zero-grad-misuse: zero-grad
train(5)
