import retrograd as torch

weight = torch.ones(4, 4, requires_grad=True)
weight.add_(1)
