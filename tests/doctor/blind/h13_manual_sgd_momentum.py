import torch

torch.manual_seed(113)

# logistic regression by hand with momentum, weight decay and step decay
n, d = 300, 5
X = torch.randn(n, d)
true_w = torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0])
y = (X @ true_w + 0.3 * torch.randn(n) > 0).float()

w = torch.zeros(d, requires_grad=True)
b = torch.zeros((), requires_grad=True)
params = [w, b]
buf = [torch.zeros_like(p) for p in params]


def loss_fn(x, t):
    z = x @ w + b
    return (torch.clamp(z, min=0) - z * t + torch.log1p(torch.exp(-z.abs()))).mean()


@torch.no_grad()
def sgd_step(lr, mu=0.9, wd=1e-3):
    for p, v in zip(params, buf):
        g = p.grad + wd * p
        v.mul_(mu).add_(g)
        p -= lr * v
        p.grad = None


lr = 0.1
for epoch in range(30):
    order = torch.randperm(n)
    for idx in order.split(60):
        loss = loss_fn(X[idx], y[idx])
        loss.backward()
        sgd_step(lr)
    if epoch % 10 == 9:
        lr *= 0.5
        with torch.no_grad():
            acc = (((X @ w + b) > 0).float() == y).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
