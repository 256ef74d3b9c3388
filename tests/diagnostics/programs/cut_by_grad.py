"""RG103 missing-create-graph: a penalty on a gradient that was not recorded.

advice: create-graph + runs
"""

import retrograd as torch

x = torch.ones(3, requires_grad=True)
(slope,) = torch.autograd.grad((x**3).sum(), x)  # 1
penalty = (slope - 1).pow(2).sum()
penalty.backward()  # 2
