import torch
import torch.nn as nn
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    opt.zero_grad()  # zero-grad-misuse: reorder-step
    (model(torch.randn(6, 4)).pow(2).mean() / 3).backward()
    if step % 3 == 2:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
