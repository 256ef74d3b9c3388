import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
V = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4)

features = torch.tanh(x @ W)
for _ in range(3):
    loss = (features @ V).sum()
    loss.backward()
