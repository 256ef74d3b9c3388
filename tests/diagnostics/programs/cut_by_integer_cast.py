"""RG103 broken-graph: values are converted to whole numbers.

advice: keep-graph
"""

import retrograd as torch

weight = torch.ones(3, requires_grad=True)
levels = (weight * 10).long()  # 1
loss = (levels.float() - 7).pow(2).sum()
loss.backward()  # 2
