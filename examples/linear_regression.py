"""Linear regression: the smallest training loop there is."""

import torch

torch.manual_seed(0)

# y = 2 x1 - 3.4 x2 + 4.2, with a little noise
inputs = torch.randn(200, 2)
targets = inputs @ torch.tensor([2.0, -3.4]) + 4.2 + 0.01 * torch.randn(200)

weight = torch.zeros(2, requires_grad=True)
bias = torch.zeros(1, requires_grad=True)

for epoch in range(1, 101):
    # A new graph in every pass: the one of the pass before was freed by its backward.
    loss = ((inputs @ weight + bias - targets) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        weight -= 0.1 * weight.grad
        bias -= 0.1 * bias.grad
    weight.grad = None
    bias.grad = None
    if epoch % 20 == 0:
        print(f"epoch {epoch:3d}  loss {loss.item():.4f}")

print(f"weight {weight[0].item():.3f} {weight[1].item():.3f}, bias {bias.item():.3f}")
