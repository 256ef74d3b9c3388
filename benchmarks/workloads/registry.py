"""What a workload is, and the list of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy


@dataclass(frozen=True)
class Prepared:
    """A step that returns its result, and the leaves whose values and gradients it changes."""

    step: Callable[[], Any]
    leaves: Sequence[Any]


@dataclass(frozen=True)
class Workload:
    """A named workload; `prepare(torch)` builds it anew."""

    name: str
    title: str
    prepare: Callable[[Any], Prepared]


WORKLOADS: dict[str, Workload] = {}


def workload(title: str) -> Callable[[Callable[[Any], Prepared]], Callable[[Any], Prepared]]:
    """Register a `prepare` function under its own name."""

    def register(prepare: Callable[[Any], Prepared]) -> Callable[[Any], Prepared]:
        WORKLOADS[prepare.__name__] = Workload(prepare.__name__, title, prepare)
        return prepare

    return register


def plain(*shape: int, scale: float = 0.1) -> numpy.ndarray[Any, numpy.dtype[numpy.float32]]:
    """Small numbers of both signs, the same ones each time.

    They come from a congruence in whole numbers, so they look irregular (no two rows of a weight
    are alike) and are the same to the last bit everywhere.
    """
    index = numpy.arange(math.prod(shape), dtype=numpy.int64)
    values = ((index * 7919 + index * index * 31) % 1009 - 504) * (scale / 100)
    return values.astype(numpy.float32).reshape(shape)


def filled(torch: Any, *shape: int, scale: float = 0.1) -> Any:
    """A tensor of the numbers of `plain`."""
    return torch.from_numpy(plain(*shape, scale=scale))


def set_values(torch: Any, parameters: Sequence[Any], scale: float = 0.1) -> None:
    """Give every parameter the numbers of `filled`, so that both sides start alike."""
    with torch.no_grad():
        for parameter in parameters:
            parameter.copy_(filled(torch, *parameter.shape, scale=scale))
