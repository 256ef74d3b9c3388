"""RG102 inplace-after-save: += on a result that sigmoid() keeps.

advice: clone-before-inplace + runs, clone-before-inplace
"""

import retrograd as torch

weight = torch.ones(3, requires_grad=True)
hidden = torch.sigmoid(weight * 2)  # 1
hidden += 1  # 2
hidden.sum().backward()  # 3
