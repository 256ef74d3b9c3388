import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4)
prediction = torch.tanh(x @ W)
loss = (prediction * prediction).sum()
for _ in range(2):
    loss.backward()
