import retrograd as torch

x = torch.ones(4, 4)
loss = (x * x).sum()
loss.backward()
