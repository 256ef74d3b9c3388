"""All parameters of a model as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from retrograd.ops.making.queries import typename
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters in one vector, with history.

    >>> layer = torch.nn.Linear(3, 2)
    >>> torch.nn.utils.parameters_to_vector(layer.parameters()).shape
    torch.Size([8])
    """
    return RECORDED.cat([one.view(-1) for one in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let the parameters hold the elements of a vector, in order; they share its memory.

    >>> layer = torch.nn.Linear(1, 1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([2.0, 3.0]), layer.parameters())
    >>> layer(torch.tensor([10.0])).item()
    23.0
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for one in parameters:
        end = start + one.numel()
        one.data = vec[start:end].view_as(one).data
        start = end
