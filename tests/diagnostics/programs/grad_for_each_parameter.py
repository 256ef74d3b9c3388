"""RG101 freed-by-grad-call: autograd.grad() is called once for each parameter.

advice: retain-graph + runs, create-graph + runs
"""

import retrograd as torch

a = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
loss = (a * b).exp().sum()  # 1
gradients = [torch.autograd.grad(loss, leaf)[0] for leaf in (a, b)]  # 2 3
