import retrograd as torch

W = torch.ones(4, 4, requires_grad=True)
V = torch.ones(4, 4, requires_grad=True)
x = torch.ones(4, 4)
trunk = torch.tanh(x @ W)
policy_loss = (trunk @ V).sum()
value_loss = (trunk * trunk).sum()
policy_loss.backward()
value_loss.backward()
