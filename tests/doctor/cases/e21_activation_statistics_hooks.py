import collections

import torch
import torch.nn as nn

torch.manual_seed(1)


class ActivationStats:
    """Mean and spread of every convolution's output, for the report at the end of training."""

    def __init__(self, model):
        self.means = collections.defaultdict(list)
        self.spreads = collections.defaultdict(list)
        self.handles = [
            module.register_forward_hook(self.recorder(name))
            for name, module in model.named_modules()
            if isinstance(module, nn.Conv1d)
        ]

    def recorder(self, name):
        def record(module, inputs, output):
            self.means[name].append(output.mean())
            self.spreads[name].append(output.std())
        return record

    def report(self):
        for handle in self.handles:
            handle.remove()
        return {
            name: (torch.stack(means).mean().item(), torch.stack(self.spreads[name]).mean().item())
            for name, means in self.means.items()
        }


def residual_stack(width=8, depth=3):
    layers = [nn.Conv1d(2, width, 3, padding=1)]
    for _ in range(depth):
        layers += [nn.GroupNorm(2, width), nn.ReLU(), nn.Conv1d(width, width, 3, padding=1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, 2))


model = residual_stack()
stats = ActivationStats(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(12):
    signal = torch.randn(8, 2, 20)
    label = (signal[:, 0].mean(1) > signal[:, 1].mean(1)).long()
    loss = nn.functional.cross_entropy(model(signal), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for name, (mean, spread) in stats.report().items():
    print(f"{name}: {mean:+.3f} {spread:.3f}")
