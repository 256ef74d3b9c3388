import retrograd as torch
from retrograd.utils.checkpoint import checkpoint

layer = torch.nn.Linear(3, 3)
x = torch.ones(2, 3, requires_grad=True)
loss = checkpoint(layer, x, use_reentrant=True).sum()
loss.backward(inputs=[x])
