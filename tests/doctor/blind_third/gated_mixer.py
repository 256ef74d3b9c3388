import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class GatedMixer(nn.Module):
    """Token mixing with a gate that is also reported for logging."""

    def __init__(self, dim, tokens):
        super().__init__()
        self.to_gate = nn.Linear(dim, dim)
        self.mix = nn.Linear(tokens, tokens)
        self.floor = 0.05

    def forward(self, x):
        gate = torch.sigmoid(self.to_gate(x))
        mixed = self.mix(x.transpose(1, 2)).transpose(1, 2)
        kept = gate * mixed
        # the skip path uses the complement with a small floor
        gate += self.floor
        skip = (1 - gate) * x
        return kept + skip, gate.mean().detach()


class Net(nn.Module):
    def __init__(self, dim=12, tokens=8, classes=4):
        super().__init__()
        self.blocks = nn.ModuleList([GatedMixer(dim, tokens) for _ in range(3)])
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        openness = []
        for block in self.blocks:
            x, g = block(x)
            openness.append(g)
        return self.head(x.mean(dim=1)), torch.stack(openness)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
x = torch.randn(64, 8, 12)
y = x.mean(1)[:, :4].argmax(-1)

for step in range(40):
    logits, openness = net(x)
    loss = F.cross_entropy(logits, y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4), [round(v, 3) for v in openness.tolist()])
