import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4)
total = torch.ones(())
for _ in range(3):
    loss = torch.tanh(x @ W).sum()
    total = total + loss
    total.backward()
