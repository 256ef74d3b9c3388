import torch
import torch.nn as nn
body, head = nn.Linear(6, 8), nn.Linear(8, 2)
opt = torch.optim.Adam([*body.parameters(), *head.parameters()], weight_decay=0.1)
for step in range(10):
    if step == 4:
        for p in body.parameters():
            p.requires_grad = False  # freeze-without-effect: freeze-parameters
    loss = head(torch.relu(body(torch.randn(8, 6)))).pow(2).mean()
    opt.zero_grad(set_to_none=False)
    loss.backward()
    opt.step()
