"""RG102 param-updated-before-backward: the discriminator steps before the generator's backward.

advice: reorder-step, recompute-forward
"""

import retrograd as torch
from retrograd import nn

generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
optimizer = torch.optim.SGD(discriminator.parameters(), lr=0.1)

fake = generator(torch.ones(4, 2))
judged = discriminator(fake)  # 1
discriminator_loss = judged.mean()
generator_loss = -judged.mean()
discriminator_loss.backward(retain_graph=True)
optimizer.step()  # 2
generator_loss.backward()  # 3
