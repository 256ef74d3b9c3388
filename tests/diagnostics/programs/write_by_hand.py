"""RG102 inplace-after-save: a weight is updated by hand between two backward passes.

advice: reorder-step, clone-before-inplace
"""

import retrograd as torch

weight = torch.ones(3, 3, requires_grad=True)
x = torch.ones(1, 3, requires_grad=True)
y = x @ weight  # 1
y.sum().backward(retain_graph=True)
with torch.no_grad():
    weight -= 0.1 * weight.grad  # 2
y.pow(2).sum().backward()  # 3
