import retrograd as torch


def norm_of_slope(x):
    x.requires_grad_()
    (slope,) = torch.autograd.grad(x.pow(3).sum(), x, create_graph=True)
    return slope.norm()


torch.func.grad(norm_of_slope)(torch.ones(3))
