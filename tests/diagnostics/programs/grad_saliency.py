"""RG101 freed-by-grad-call: a saliency map is taken from the loss that is trained on.

advice: retain-graph + runs, create-graph + runs
"""

import retrograd as torch
from retrograd import nn

model = nn.Linear(3, 2)


def saliency(loss, image):
    return torch.autograd.grad(loss, image)[0].abs()  # 2


image = torch.ones(1, 3, requires_grad=True)
loss = torch.sigmoid(model(image)).sum()  # 1
importance = saliency(loss, image)
loss.backward()  # 3
