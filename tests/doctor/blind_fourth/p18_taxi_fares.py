# Linear regression from scratch, without torch.optim
import torch

torch.manual_seed(0)
torch.set_num_threads(1)

distance = torch.rand(200) * 10
minutes = distance * 2 + torch.rand(200) * 5
fare = 2.5 + 1.2 * distance + 0.3 * minutes + 0.1 * torch.randn(200)

features = torch.stack([distance, minutes], dim=1)
mean, std = features.mean(0), features.std(0)
features = (features - mean) / std

w = torch.randn(2, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.05


def predict(x):
    return x @ w + b


def mse(pred, target):
    return ((pred - target) ** 2).mean()


for epoch in range(200):
    pred = predict(features)
    loss = mse(pred, fare)
    loss.backward()

    # gradient descent
    w = w - lr * w.grad
    b = b - lr * b.grad

    if epoch % 40 == 0:
        print(f"epoch {epoch:3d}  loss {loss.item():.4f}")

print("weights", w.tolist(), "bias", b.item())
print("fare for 5 km, 12 min:", predict((torch.tensor([5.0, 12.0]) - mean) / std).item())
