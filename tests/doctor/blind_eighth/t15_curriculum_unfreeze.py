"""Gradual unfreezing: first only the classifier, later also the body with a lower rate."""
import torch
import torch.nn as nn

torch.manual_seed(14)

body = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
classifier = nn.Linear(32, 3)
model = nn.Sequential(body, classifier)

x = torch.randn(240, 12)
y = torch.stack([x[:, 0], x[:, 1], x[:, 2] * x[:, 3]], 1).argmax(1)


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag


def run_epoch(opt):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(40):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / 6


set_trainable(body, False)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

UNFREEZE_AT = 5
for epoch in range(12):
    if epoch == UNFREEZE_AT:
        set_trainable(body, True)
        optimizer.add_param_group({"params": body.parameters(), "lr": 1e-3})
        print("body unfrozen")
    print(f"epoch {epoch} loss {run_epoch(optimizer):.4f}")
