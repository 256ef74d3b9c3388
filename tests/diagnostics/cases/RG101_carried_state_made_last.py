import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4)
h = torch.tanh(x @ W)
for _ in range(3):
    loss = (h * x).sum()
    h = torch.tanh(h @ W)
    loss.backward()
