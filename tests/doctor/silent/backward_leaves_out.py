import torch
import torch.nn as nn
class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.round()
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (x.abs() < 2).to(grad_output.dtype)  # custom-function: return-gradients
first, second = nn.Linear(4, 8), nn.Linear(8, 1)
opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
for step in range(5):
    opt.zero_grad()
    second(Round.apply(first(torch.randn(6, 4)))).pow(2).mean().backward()
    opt.step()
