import torch
from torch import nn
from torch.amp import GradScaler, autocast

torch.manual_seed(0)
device = "cpu"
accumulate = 4

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scaler = GradScaler(device, init_scale=2.0 ** 10)
criterion = nn.CrossEntropyLoss()

inputs = torch.randn(256, 32)
targets = (inputs @ torch.randn(32, 5)).argmax(1)


def forward_loss(x, y):
    with autocast(device, dtype=torch.bfloat16):
        return criterion(model(x), y) / accumulate


for epoch in range(3):
    running = 0.0
    optimizer.zero_grad()
    batches = list(zip(inputs.split(16), targets.split(16)))
    for step, (x, y) in enumerate(batches, start=1):
        loss = forward_loss(x.to(device), y.to(device))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)

        if step % accumulate == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        running += loss.item() * accumulate
    print(f"epoch {epoch}: loss {running / len(batches):.3f}, last norm {norm.item():.3f}")
