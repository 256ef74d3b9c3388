import torch

x = torch.randn(10, requires_grad=True)
y = x * 2
z = y.mean()

z.backward()
print(x.grad)

x_detached = x.detach()
w = x_detached * 3

x.grad.zero_()
x_detached = x.detach()
w = x_detached * 3
y = x * 2
z = y.mean()

z.backward()
print(x.grad)
