import torch

torch.manual_seed(42)

# house prices: size, rooms, age
n = 200
X = torch.rand(n, 3)
true_w = torch.tensor([[3.0], [1.5], [-2.0]])
y = X @ true_w + 0.7 + 0.05 * torch.randn(n, 1)

mean, std = X.mean(0), X.std(0)
Xn = (X - mean) / std

w = torch.zeros(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)

lr = 0.1


def predict(inp):
    return inp @ w + b


def mse(pred, target):
    return ((pred - target) ** 2).mean()


losses = []
for epoch in range(100):
    loss = mse(predict(Xn), y)
    losses.append(loss.item())
    loss.backward()

    w -= lr * w.grad
    b -= lr * b.grad
    w.grad.zero_()
    b.grad.zero_()

    if epoch % 25 == 0 or epoch == 99:
        print(f"epoch {epoch} loss {loss.item():.5f}")

print("weights", (w.detach().squeeze() / std).tolist())
print("bias", (b - (mean / std) @ w).item())
