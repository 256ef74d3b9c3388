"""Learn a per-feature L2 penalty by gradient descent on the validation loss."""
import torch

torch.manual_seed(8)

n, d = 40, 30
true_w = torch.zeros(d)
true_w[:5] = torch.tensor([2.0, -1.5, 1.0, 0.7, -2.2])
x_train, x_val = torch.randn(n, d), torch.randn(n, d)
y_train = x_train @ true_w + 0.5 * torch.randn(n)
y_val = x_val @ true_w + 0.5 * torch.randn(n)


def train_objective(w, log_lambda):
    fit = ((x_train @ w - y_train) ** 2).mean()
    return fit + (log_lambda.exp() * w ** 2).sum()


def inner_loop(log_lambda, steps=30, lr=0.05):
    w = torch.zeros(d, requires_grad=True)
    for _ in range(steps):
        obj = train_objective(w, log_lambda)
        (g,) = torch.autograd.grad(obj, w)
        w = w - lr * g
    return w


def validation_loss(w):
    return ((x_val @ w - y_val) ** 2).mean()


log_lambda = torch.full((d,), -3.0, requires_grad=True)
outer = torch.optim.Adam([log_lambda], lr=0.1)

for it in range(15):
    w_star = inner_loop(log_lambda)
    val = validation_loss(w_star)
    hyper_grad = torch.autograd.grad(val, log_lambda)[0]
    outer.zero_grad()
    log_lambda.grad = hyper_grad
    outer.step()
    if it % 5 == 0:
        print(f"outer {it}: val {val.item():.4f} "
              f"mean lambda {log_lambda.exp().mean().item():.4f}")
