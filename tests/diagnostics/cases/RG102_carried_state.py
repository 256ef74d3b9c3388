import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
optimizer = torch.optim.SGD([W], lr=0.1)
x = torch.ones(4, 4)
h = torch.ones(4, 4)
for _ in range(3):
    h = torch.tanh(x + h @ W)
    loss = (h * x).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
