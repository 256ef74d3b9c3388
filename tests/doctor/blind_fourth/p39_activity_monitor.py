import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(45)
torch.set_num_threads(1)


class ActivityMonitor:
    """Collects the outputs of the ReLU layers to watch for dead units."""

    def __init__(self, model):
        self.outputs = []
        self.handles = [
            m.register_forward_hook(self.record) for m in model.modules() if isinstance(m, nn.ReLU)
        ]

    def record(self, module, inputs, output):
        self.outputs.append(output)

    def dead_share(self, last):
        recent = self.outputs[-last:]
        return sum((o <= 0).float().mean().item() for o in recent) / len(recent)

    def close(self):
        for h in self.handles:
            h.remove()


def packets(n):
    x = torch.randn(n, 16)
    return x, (x[:, :8].pow(2).sum(1) > x[:, 8:].pow(2).sum(1)).long()


model = nn.Sequential(
    nn.Linear(16, 128), nn.ReLU(),
    nn.Linear(128, 128), nn.ReLU(),
    nn.Linear(128, 64), nn.ReLU(),
    nn.Linear(64, 2),
)
monitor = ActivityMonitor(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for step in range(150):
    x, y = packets(64)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step + 1} loss {loss.item():.3f} dead {monitor.dead_share(3):.2f}")
monitor.close()
