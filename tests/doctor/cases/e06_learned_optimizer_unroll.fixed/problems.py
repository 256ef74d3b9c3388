import torch


class Quadratic:
    def __init__(self, dim):
        self.matrix = torch.randn(dim, dim)
        self.target = torch.randn(dim)

    def start(self):
        return torch.zeros(self.matrix.size(1))

    def value(self, theta):
        return (self.matrix @ theta - self.target).square().mean()

    def value_and_slope(self, theta):
        """The slope is fed to the optimiser as data (first-order approximation)."""
        point = theta.detach().requires_grad_()
        value = self.value(point)
        slope, = torch.autograd.grad(value, point)
        return value.detach(), slope
