"""RG103 no-grad-scope: features are computed in inference mode.

advice: enable-grad
"""

import retrograd as torch
from retrograd import nn

body = nn.Linear(3, 3)
with torch.inference_mode():  # 1
    features = body(torch.ones(2, 3))
loss = features.sum()
loss.backward()  # 2
