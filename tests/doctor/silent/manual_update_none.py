import torch
x = torch.randn(20, 3)
w = torch.randn(3, 1, requires_grad=True)
for step in range(6):
    for part in x.split(5):
        (part @ w - 1).pow(2).mean().backward()
    w.data.sub_(0.1 * w.grad)
    w.grad = None
