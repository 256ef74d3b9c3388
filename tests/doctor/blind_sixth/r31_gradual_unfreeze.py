"""Fine tuning with gradual unfreezing: first the head, then block after block."""
import torch
import torch.nn as nn

torch.manual_seed(0)
UNFREEZE_AT = {4: "block2", 8: "block1"}


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = nn.Sequential(nn.Linear(16, 32), nn.Tanh())
        self.block2 = nn.Sequential(nn.Linear(32, 32), nn.Tanh())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.block2(self.block1(x)))


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag


def count(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


model = Encoder()
pretrained = {k: v.clone() for k, v in model.state_dict().items()}

set_trainable(model, False)
set_trainable(model.head, True)
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=5e-3)
criterion = nn.CrossEntropyLoss()

x = torch.randn(300, 16)
y = ((x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.8).long())

for epoch in range(20):
    if epoch in UNFREEZE_AT:
        set_trainable(getattr(model, UNFREEZE_AT[epoch]), True)
        print(f"epoch {epoch}: unfroze {UNFREEZE_AT[epoch]}, {count(model)} trainable weights")
    for xb, yb in zip(x.split(50), y.split(50)):
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()

with torch.no_grad():
    print("final loss", criterion(model(x), y).item())
drift = {k: (v - pretrained[k]).abs().max().item() for k, v in model.state_dict().items() if k.endswith("weight")}
print("largest change per layer", {k: round(v, 4) for k, v in drift.items()})
