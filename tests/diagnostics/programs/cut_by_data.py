"""RG103 broken-graph: a value is read through .data.

advice: keep-graph + runs
"""

import retrograd as torch

weight = torch.ones(3, requires_grad=True)
scaled = weight.data * 2  # 1
loss = (scaled - 1).pow(2).sum()
loss.backward()  # 2
