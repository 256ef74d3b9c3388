import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4)
target = torch.tanh(x @ W).detach()
loss = (target * x).sum()
loss.backward()
