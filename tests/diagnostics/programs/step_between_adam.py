"""RG102 param-updated-before-backward: Adam steps between two backward passes of one forward pass.

advice: reorder-step, recompute-forward
"""

import retrograd as torch
from retrograd import nn

model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
output = model(torch.ones(2, 3))  # 1
output.mean().backward(retain_graph=True)
optimizer.step()  # 2
output.pow(2).mean().backward()  # 3
