import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4)
h = torch.tanh(x @ W)
loss = (h * h).sum()
h.add_(1)
loss.backward()
