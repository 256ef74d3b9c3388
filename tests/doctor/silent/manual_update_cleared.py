import torch
x = torch.randn(20, 3)
w = torch.randn(3, 1, requires_grad=True)
for step in range(6):
    loss = (x @ w - 1).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
