"""Magnitude pruning, then sparse fine-tuning with momentum; weights kept at zero by hand."""
import torch
import torch.nn as nn

torch.manual_seed(9)

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
x = torch.randn(300, 20)
y = (x[:, :4] * 2 + x[:, 4:8]).argmax(1)
criterion = nn.CrossEntropyLoss()


def train(optimizer, steps, after_step=None):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        if after_step is not None:
            after_step()
    return loss.item()


print("dense loss", train(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), 60))

masks = {}
for name, p in model.named_parameters():
    if p.dim() == 2:
        k = int(0.7 * p.numel())
        threshold = p.detach().abs().flatten().kthvalue(k).values
        masks[name] = (p.detach().abs() > threshold).float()


@torch.no_grad()
def apply_masks():
    for name, p in model.named_parameters():
        if name in masks:
            p.mul_(masks[name])


apply_masks()
for name, p in model.named_parameters():
    if name in masks:
        p.register_hook(lambda g, m=masks[name]: g * m)

optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
print("sparse loss", train(optimizer, 80, after_step=apply_masks))

zeros = sum((p == 0).sum().item() for n_, p in model.named_parameters() if n_ in masks)
total = sum(m.numel() for m in masks.values())
print(f"sparsity {zeros / total:.3f}")
