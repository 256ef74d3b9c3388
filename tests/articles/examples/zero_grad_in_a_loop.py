import torch
import torch.optim as optim

x = torch.randn(10, requires_grad=True)
optimizer = optim.SGD([x], lr=0.01)

for i in range(3):
    y = x * 2
    z = y.mean()
    optimizer.zero_grad()
    z.backward()
    optimizer.step()
    print(x.grad)
    print(x)
