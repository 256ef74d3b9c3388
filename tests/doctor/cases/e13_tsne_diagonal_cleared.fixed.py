"""t-SNE by gradient descent on the layout."""
import torch
from torch import Tensor


def conditional(x: Tensor, sigma: float = 1.5) -> Tensor:
    p = torch.exp(-torch.cdist(x, x).square() / (2 * sigma**2))
    p.fill_diagonal_(0.0)
    p /= p.sum(1, keepdim=True)
    return ((p + p.T) / (2 * len(x))).clamp(min=1e-8)


def student(layout: Tensor) -> Tensor:
    squares = layout.square().sum(1)
    distance = squares[:, None] + squares[None, :] - 2 * layout @ layout.T
    kernel = (1 + distance).reciprocal()
    kernel = kernel.clone().fill_diagonal_(0.0)
    return (kernel / kernel.sum()).clamp(min=1e-8)


def divergence(p: Tensor, q: Tensor) -> Tensor:
    return (p * (p / q).log()).sum()


def embed(x: Tensor, iterations: int = 25, exaggeration: float = 4.0) -> Tensor:
    p = conditional(x)
    layout = (1e-2 * torch.randn(len(x), 2)).requires_grad_()
    optimizer = torch.optim.SGD([layout], lr=2.0, momentum=0.5)
    for iteration in range(iterations):
        stretch = exaggeration if iteration < 10 else 1.0
        optimizer.zero_grad()
        loss = divergence(stretch * p, student(layout))
        loss.backward()
        optimizer.step()
        if iteration % 5 == 0:
            print(iteration, round(loss.item(), 4))
    return layout.detach()


if __name__ == "__main__":
    torch.manual_seed(0)
    groups = torch.randint(0, 3, (30,))
    data = 4 * torch.eye(6)[groups] + torch.randn(30, 6)
    layout = embed(data)
    centres = torch.stack([layout[groups == g].mean(0) for g in range(3)])
    print("spread of groups", round(torch.pdist(centres).mean().item(), 3))
