import torch
x = torch.linspace(-1, 1, 20)
w = torch.zeros(3, requires_grad=True)
for step in range(6):
    loss = (w[0] + w[1] * x + w[2] * x**2 - x.sin()).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad  # zero-grad-misuse: zero-grad
