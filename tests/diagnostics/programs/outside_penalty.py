"""RG101 precomputed-outside-loop: a penalty is computed once and added to every loss.

advice: recompute-forward, detach + runs
"""

import retrograd as torch


def train():
    weight = torch.ones(3, requires_grad=True)
    penalty = (weight * weight).sum()  # 1
    for _ in range(3):
        loss = (weight * torch.ones(3)).sum() + penalty  # 3
        loss.backward()  # 2


train()
