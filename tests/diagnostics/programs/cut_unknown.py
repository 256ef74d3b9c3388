"""RG103 None: the loss was made from a number, and numbers have no history.

advice: keep-graph, keep-graph
"""

import retrograd as torch

weight = torch.ones(3, requires_grad=True)
value = (weight * 2).sum().item()
loss = torch.ones(()) * value
loss.backward()  # 1
