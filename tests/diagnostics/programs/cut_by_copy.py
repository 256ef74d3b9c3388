"""RG103 broken-graph: losses are collected with torch.tensor().

advice: keep-graph
"""

import warnings

import retrograd as torch

warnings.simplefilter("ignore")  # PyTorch warns here; the loss is lost all the same

weight = torch.ones(3, requires_grad=True)
losses = [(weight * scale).sum() for scale in (1.0, 2.0)]
loss = torch.tensor(losses).mean()  # 1
loss.backward()  # 2
