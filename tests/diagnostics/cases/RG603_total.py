import retrograd as torch


def largest(x):
    best = torch.zeros(())
    for value in x:
        best.copy_(torch.maximum(best, value))
    return best


torch.func.vmap(largest)(torch.ones(4, 3))
