"""RG101 shared-subgraph: the generator's output is not detached for the discriminator.

advice: detach + runs, detach + runs, retain-graph + runs, recompute-forward
"""

import retrograd as torch
from retrograd import nn

generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))
discriminator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
discriminator_optimizer = torch.optim.Adam(discriminator.parameters(), lr=0.01)

for _ in range(2):
    fake = generator(torch.ones(3, 2))  # 1
    discriminator_optimizer.zero_grad()
    judged = discriminator(fake)  # 2
    (judged.mean() - discriminator(torch.ones(3, 4)).mean()).backward()  # 3
    discriminator_optimizer.step()

    generator_optimizer.zero_grad()
    verdict = discriminator(fake)  # 4
    (-verdict.mean()).backward()
    generator_optimizer.step()
