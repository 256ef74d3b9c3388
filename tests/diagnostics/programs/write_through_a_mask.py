"""RG102 inplace-after-save: small probabilities are overwritten by index.

advice: clone-before-inplace, clone-before-inplace
"""

import retrograd as torch

scores = torch.tensor([0.0, 5.0, 9.0], requires_grad=True)
probabilities = torch.softmax(scores, 0)  # 1
probabilities[probabilities < 0.01] = 0.01  # 2
loss = -probabilities.log().sum()
loss.backward()  # 3
