import torch

torch.manual_seed(9)

# polynomial regression with hand written gradient descent and momentum
n = 200
x = torch.linspace(-1, 1, n)
truth = torch.tensor([0.3, -1.2, 0.0, 2.0])
powers = torch.stack([x ** k for k in range(4)], dim=1)
y = powers @ truth + 0.05 * torch.randn(n)


def init_params():
    coef = torch.zeros(4, requires_grad=True)
    log_scale = torch.zeros(1, requires_grad=True)
    return [coef, log_scale]


def nll(params, xb, yb):
    coef, log_scale = params
    err = (xb @ coef - yb) / log_scale.exp()
    return 0.5 * err.pow(2).mean() + log_scale.mean()


def update(params, velocity, lr, mu=0.8):
    for p, v in zip(params, velocity):
        v.mul_(mu).add_(p.grad)
        p -= lr * v
        p.grad.zero_()


def evaluate(params):
    with torch.no_grad():
        return (powers @ params[0] - y).pow(2).mean().sqrt().item()


params = init_params()
velocity = [torch.zeros_like(p) for p in params]
lr = 0.01
for epoch in range(80):
    perm = torch.randperm(n)
    for i in range(0, n, 50):
        idx = perm[i:i + 50]
        loss = nll(params, powers[idx], y[idx])
        loss.backward()
        update(params, velocity, lr)
    if epoch == 50:
        lr *= 0.3
    if epoch % 20 == 0:
        print(f"epoch {epoch} nll {loss.item():.3f} rmse {evaluate(params):.3f}")
print("coef", [round(c, 2) for c in params[0].tolist()])
