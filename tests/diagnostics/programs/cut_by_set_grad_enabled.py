"""RG103 no-grad-scope: gradients were switched off for a validation and on again too late.

advice: enable-grad
"""

import retrograd as torch

weight = torch.ones(3, requires_grad=True)
torch.set_grad_enabled(False)  # 1
validation = (weight * 2).sum()
loss = (weight * 3).sum()
torch.set_grad_enabled(True)
loss.backward()  # 2
