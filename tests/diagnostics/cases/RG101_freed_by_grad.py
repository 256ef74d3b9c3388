import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4, requires_grad=True)
loss = torch.tanh(x @ W).sum()
saliency = torch.autograd.grad(loss, x)
loss.backward()
