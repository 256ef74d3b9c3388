import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4)
loss = torch.tanh(x @ W).sum()
loss.backward()
loss.backward()
