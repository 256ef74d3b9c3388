import math
import torch

torch.manual_seed(5)


def init(sizes):
    params = {}
    for k, (n_in, n_out) in enumerate(zip(sizes, sizes[1:])):
        params[f"w{k}"] = (torch.randn(n_in, n_out) * math.sqrt(2 / n_in)).requires_grad_()
        params[f"b{k}"] = torch.zeros(n_out, requires_grad=True)
    return params


def mlp(params, x):
    depth = len(params) // 2
    for k in range(depth):
        x = x @ params[f"w{k}"] + params[f"b{k}"]
        if k < depth - 1:
            x = torch.relu(x)
    return x


def cosine_lr(step, total, peak=0.1):
    return 0.5 * peak * (1 + math.cos(math.pi * step / total))


def xor_data(n):
    bits = torch.randint(0, 2, (n, 2)).float()
    return bits + 0.05 * torch.randn(n, 2), (bits.sum(1) % 2).unsqueeze(1)


def train(params, total=8, decay=1e-4):
    for step in range(total):
        x, y = xor_data(32)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(mlp(params, x), y)
        grads = torch.autograd.grad(loss, list(params.values()))
        lr = cosine_lr(step, total)
        for (name, value), g in zip(params.items(), grads):
            with torch.no_grad():
                value -= lr * (g + decay * value)
        print(step, f"{loss.item():.4f}", f"lr={lr:.3f}")
    return params


train(init([2, 16, 1]))
