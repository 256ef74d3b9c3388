"""RG102 inplace-after-save: an operand of a product is scaled in place.

advice: clone-before-inplace + runs, clone-before-inplace
"""

import retrograd as torch

weight = torch.ones(3, requires_grad=True)


def scaled(value):
    value.mul_(0.5)  # 2
    return value


left = weight.exp()
right = weight + 1
product = left * right  # 1
total = product.sum() + scaled(right).sum()
total.backward()  # 3
