import torch
w = torch.randn(3, requires_grad=True) * 0.1  # nonleaf-grad: make-leaf
for _ in range(3):
    loss = (w * 2).sum()
    print(w.grad)
