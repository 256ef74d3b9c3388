"""RG101 same-loss-twice: the forward pass stands above the loop.

advice: recompute-forward, retain-graph + runs
"""

import retrograd as torch

weight = torch.ones(3, requires_grad=True)
x = torch.tensor([1.0, 2.0, 3.0])
loss = ((x * weight).sum() - 1) ** 2  # 1
for _ in range(5):
    loss.backward()  # 2 3
    with torch.no_grad():
        weight -= 0.01 * weight.grad
    weight.grad = None
