"""RG101 shared-subgraph: reconstruction and divergence of one code.

advice: combine-losses, retain-graph + runs
"""

import retrograd as torch
from retrograd import nn

encoder, decoder = nn.Linear(6, 2), nn.Linear(2, 6)
x = torch.ones(4, 6)
code = torch.tanh(encoder(x))  # 1
reconstruction = nn.MSELoss()(decoder(code), x)
divergence = (code * code).mean()  # 3
reconstruction.backward()  # 2
divergence.backward()
