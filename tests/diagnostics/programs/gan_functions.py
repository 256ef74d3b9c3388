"""RG101 shared-subgraph: each step of a GAN is a function of the same fake image.

advice: detach + runs, detach + runs, retain-graph + runs, recompute-forward
"""

import retrograd as torch

G = torch.ones(2, 3, requires_grad=True)
D = torch.ones(3, 1, requires_grad=True)


def discriminator_step(image):
    loss = (image @ D).pow(2).mean()  # 2
    loss.backward()  # 3


def generator_step(image):
    loss = -(image @ D).mean()  # 4
    loss.backward()


fake = torch.tanh(torch.ones(4, 2) @ G)  # 1
discriminator_step(fake)
generator_step(fake)
