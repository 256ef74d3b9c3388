import math

import torch

dtype = torch.float
torch.manual_seed(0)

# 2-layer network by hand
N, D_in, H, D_out = 64, 10, 20, 1
x = torch.randn(N, D_in, dtype=dtype)
y = torch.tanh(x[:, :3].sum(1, keepdim=True)) + 0.1 * torch.randn(N, D_out)

w1 = (torch.randn(D_in, H) / math.sqrt(D_in)).requires_grad_()
w2 = (torch.randn(H, D_out) / math.sqrt(H)).requires_grad_()

learning_rate = 0.05


def forward(inp):
    return inp.mm(w1).clamp(min=0).mm(w2)


def report(step, value):
    print(f"step {step:3d} loss {value:.4f}")


best = float("inf")
for t in range(200):
    y_pred = forward(x)
    loss = (y_pred - y).pow(2).mean()
    if t % 50 == 0 or t == 199:
        report(t, loss.item())
    best = min(best, loss.item())

    loss.backward()

    w1 = w1 - learning_rate * w1.grad
    w2 = w2 - learning_rate * w2.grad

print(f"best loss {best:.4f}")
