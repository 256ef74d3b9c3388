import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4)
with torch.no_grad():
    y = x @ W
y.sum().backward()
