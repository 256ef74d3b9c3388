"""Forward correction for noisy labels: a learned class confusion is applied to the probabilities."""
from typing import Callable

import torch
from torch import Tensor, nn

CLASSES = 4


def identity_leaning(classes: int) -> nn.Parameter:
    return nn.Parameter(3.0 * torch.eye(classes))


def corrected_nll(logits: Tensor, labels: Tensor, *, confusion: Tensor, eps: float = 1e-6) -> Tensor:
    clean = logits.softmax(-1)
    noisy = clean @ confusion
    return -noisy.gather(1, labels[:, None]).add(eps).log().mean()


def make_criterion(raw_confusion: nn.Parameter) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda logits, labels: corrected_nll(logits, labels, confusion=raw_confusion.softmax(dim=1))


def noisy_batch(n: int = 24) -> tuple[Tensor, Tensor]:
    x = torch.randn(n, 5)
    label = x[:, :CLASSES].argmax(1)
    flip = torch.rand(n) < 0.2
    return x, torch.where(flip, (label + 1) % CLASSES, label)


def run(steps: int = 6) -> list[float]:
    network = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, CLASSES))
    raw_confusion = identity_leaning(CLASSES)
    criterion = make_criterion(raw_confusion)
    optimizer = torch.optim.RMSprop([*network.parameters(), raw_confusion], lr=1e-3)
    curve = []
    for _ in range(steps):
        x, labels = noisy_batch()
        loss = criterion(network(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(round(loss.item(), 4))
    return curve


if __name__ == "__main__":
    torch.manual_seed(9)
    print(run())
