import retrograd as torch


def clipped(x):
    total = x.abs().sum()
    if total > 1:
        x = x / total
    return x


torch.func.vmap(clipped)(torch.tensor([[0.1, 0.2], [2.0, 3.0]]))
