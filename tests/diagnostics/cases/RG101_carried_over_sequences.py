import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4)
h = torch.ones(4, 4)
for _ in range(3):
    for _ in range(4):
        h = torch.tanh(x + h @ W)
    loss = (h * x).sum()
    loss.backward()
