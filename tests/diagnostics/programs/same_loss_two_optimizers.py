"""RG101 same-loss-twice: each optimizer gets a backward() of its own.

advice: recompute-forward, retain-graph + runs, remove-extra-backward
"""

import retrograd as torch
from retrograd import nn

encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
encoder_optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
decoder_optimizer = torch.optim.SGD(decoder.parameters(), lr=0.1)
x = torch.ones(3, 4)
loss = nn.MSELoss()(decoder(torch.tanh(encoder(x))), x)  # 1
loss.backward()  # 2
loss.backward()  # 3
encoder_optimizer.step()
decoder_optimizer.step()
