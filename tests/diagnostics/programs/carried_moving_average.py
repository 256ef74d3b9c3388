"""RG101 stale-state-carried: a moving average of losses keeps their graphs.

advice: detach + runs, combine-losses
"""

import retrograd as torch

weight = torch.ones(3, requires_grad=True)
baseline = torch.zeros(())


def step(x):
    global baseline
    reward = (weight * x).pow(2).sum()
    baseline = 0.9 * baseline + 0.1 * reward  # 1 3
    loss = reward - baseline
    loss.backward()  # 2


step(torch.ones(3))
step(torch.ones(3))
