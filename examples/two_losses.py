"""One trunk, two losses: four ways to train both heads, with what each keeps in memory.

- retain:    two backward calls, the first with `retain_graph=True`. Right, and the graph of both
             losses stays alive until the second call is through.
- combine:   one backward of the sum. The same gradients, the trunk is walked once.
- recompute: the trunk runs again for the second loss. The same gradients, twice the forward work;
             only one loss's graph is alive at a time.
- detach:    the second head sees the trunk's output as plain numbers. Its loss does not train the
             trunk: cheaper, and a different model.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Saved:
    """A tensor kept for backward; counts its bytes while it lives."""

    alive = 0
    peak = 0

    def __init__(self, tensor: torch.Tensor):
        self.tensor = tensor
        self.bytes = tensor.numel() * tensor.element_size()
        Saved.alive += self.bytes
        Saved.peak = max(Saved.peak, Saved.alive)

    def __del__(self) -> None:
        Saved.alive -= self.bytes


class TwoHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(20, 128),
            nn.Tanh(),
            nn.Linear(128, 128),
            nn.Tanh(),
            nn.Linear(128, 64),
            nn.Tanh(),
        )
        self.size = nn.Linear(64, 1)
        self.kind = nn.Linear(64, 3)


def retain(model, inputs, sizes, kinds):
    features = model.trunk(inputs)
    first = F.mse_loss(model.size(features), sizes)
    second = F.cross_entropy(model.kind(features), kinds)
    first.backward(retain_graph=True)  # the trunk's part is needed once more
    second.backward()
    return first, second


def combine(model, inputs, sizes, kinds):
    features = model.trunk(inputs)
    first = F.mse_loss(model.size(features), sizes)
    second = F.cross_entropy(model.kind(features), kinds)
    (first + second).backward()
    return first, second


def recompute(model, inputs, sizes, kinds):
    first = F.mse_loss(model.size(model.trunk(inputs)), sizes)
    first.backward()
    second = F.cross_entropy(model.kind(model.trunk(inputs)), kinds)
    second.backward()
    return first, second


def detach(model, inputs, sizes, kinds):
    features = model.trunk(inputs)
    first = F.mse_loss(model.size(features), sizes)
    first.backward()
    second = F.cross_entropy(model.kind(features.detach()), kinds)
    second.backward()
    return first, second


def main() -> None:
    torch.manual_seed(17)
    inputs = torch.randn(256, 20)
    sizes = inputs[:, :4].sum(dim=1, keepdim=True)
    kinds = inputs[:, 4:7].argmax(dim=1)
    for way in (retain, combine, recompute, detach):
        torch.manual_seed(18)
        model = TwoHeads()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
        Saved.peak = 0
        with torch.autograd.graph.saved_tensors_hooks(Saved, lambda saved: saved.tensor):
            for _ in range(30):
                optimizer.zero_grad()
                first, second = way(model, inputs, sizes, kinds)
                optimizer.step()
        print(
            f"{way.__name__:<9}  loss {first.item():.4f} and {second.item():.4f}  "
            f"kept for backward at most {Saved.peak / 1024:.0f} KiB"
        )


if __name__ == "__main__":
    main()
