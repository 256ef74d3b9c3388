import warnings

import retrograd as torch

warnings.simplefilter("ignore")
torch.autograd.set_detect_anomaly(True)


def layer(x):
    return torch.where(x > 0, x.sqrt(), x)


try:
    x = torch.zeros(3, requires_grad=True)
    loss = layer(x).sum()
    loss.backward()
finally:
    torch.autograd.set_detect_anomaly(False)
