"""RG101 shared-subgraph: one loss for each scale, sent back one by one.

advice: combine-losses, retain-graph + runs
"""

import retrograd as torch

weight = torch.ones(4, 4, requires_grad=True)
x = torch.ones(2, 4)
features = torch.sigmoid(x @ weight)  # 1
losses = [(scale * features).pow(2).sum() for scale in (1.0, 0.5, 0.25)]  # 3
for loss in losses:
    loss.backward()  # 2
