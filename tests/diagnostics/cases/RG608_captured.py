import retrograd as torch

average = torch.zeros(3)


def loss(weights):
    average.mul_(0.9).add_(weights * 0.1)
    return (weights - average).square().sum()


gradient = torch.func.grad(loss)(torch.ones(3))
