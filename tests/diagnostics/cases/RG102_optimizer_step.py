import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
V = torch.ones(4, 4, requires_grad=True)
optimizer = torch.optim.SGD([W, V], lr=0.1)
x = torch.ones(4, 4)
hidden = torch.tanh(x @ W)
loss = (hidden @ V).sum()
loss.backward(retain_graph=True)
optimizer.step()
loss.backward()
