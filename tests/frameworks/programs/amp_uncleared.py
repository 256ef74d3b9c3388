"""A loop with a gradient scaler that does not clear its gradients."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu")
for _ in range(8):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(torch.randn(8, 4)).pow(2).mean()
    scaler.scale(loss).backward()  # fault
    scaler.step(optimizer)
    scaler.update()
