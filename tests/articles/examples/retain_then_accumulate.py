import torch

x = torch.randn(10, requires_grad=True)
y = x * 2
z = y.mean()

z.backward(retain_graph=True)
print(x.grad)

z.backward()
print(x.grad)

x.grad.zero_()
z.backward()
print(x.grad)
