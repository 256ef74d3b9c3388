"""RG101 precomputed-outside-loop: the prediction stands outside of the optimizer's closure.

advice: recompute-forward
"""

import retrograd as torch
from retrograd import nn

model = nn.Linear(3, 1)
x, y = torch.ones(4, 3), torch.zeros(4, 1)


def minimize(closure):
    for _ in range(3):
        closure()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.1 * parameter.grad
                parameter.grad = None


prediction = torch.sigmoid(model(x))  # 1


def closure():
    loss = (prediction - y).pow(2).mean()  # 3
    loss.backward()  # 2
    return loss


minimize(closure)
