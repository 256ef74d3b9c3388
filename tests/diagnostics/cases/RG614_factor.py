import retrograd as torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2 * x**2


x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Cube.apply, (x,))
