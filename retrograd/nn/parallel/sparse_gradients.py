"""Sparse gradients: the entries of all processes, brought together and summed."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.distributed.group import ProcessGroup
from retrograd.distributed.transports.interface import Transport
from retrograd.distributed.work import Work
from retrograd.sparse.construction import sparse_coo_tensor
from retrograd.tensor import Tensor, wrap

__all__ = ["SparseSum", "begin"]


class SparseSum:
    """A sum that was begun."""

    def __init__(self, work: Work, found: list[tuple[Any, Any]], shape: tuple[int, ...]) -> None:
        self._work = work
        self._found = found
        self._shape = shape

    def wait(self) -> Tensor:
        """The sum, when it is there, each index once."""
        self._work.wait()
        indices = np.concatenate([indices for indices, _ in self._found], axis=1)
        values = np.concatenate([values for _, values in self._found])
        made = sparse_coo_tensor(wrap(indices), wrap(values), self._shape)
        result: Tensor = made.coalesce()
        return result


def begin(
    group: ProcessGroup, parameter: Tensor, gradient: Tensor | None, factor: float
) -> SparseSum:
    """Begin to sum the sparse gradients of a parameter; None: this process has no entries."""
    if gradient is not None and not gradient.is_sparse:
        raise RuntimeError(
            "DistributedDataParallel expects sparse gradients of a layer with sparse=True, but "
            "this one is dense; make the layer with sparse=False"
        )
    shape = tuple(parameter.shape)
    own: Any = parameter._array
    if gradient is None:
        indices, values = np.zeros((1, 0), np.int64), np.zeros((0, *shape[1:]), own.dtype)
    else:
        entries = gradient.detach().coalesce()
        found_indices: Any = entries.indices()._array
        found_values: Any = entries.values()._array
        indices = np.ascontiguousarray(found_indices)
        values = np.ascontiguousarray(found_values * own.dtype.type(factor))
    found: list[tuple[Any, Any]] = []

    def run(transport: Transport, tag: int) -> None:
        counts = [np.zeros(1, np.int64) for _ in range(transport.size)]
        transport.allgather(counts, np.array([values.shape[0]], np.int64), tag)
        each = int(np.prod(shape[1:]))
        every_index = [np.empty(int(count[0]), np.int64) for count in counts]
        every_value = [np.empty(int(count[0]) * each, values.dtype) for count in counts]
        transport.allgather(every_index, indices.reshape(-1), tag)
        transport.allgather(every_value, values.reshape(-1), tag)
        for places, numbers in zip(every_index, every_value, strict=True):
            found.append((places.reshape(1, -1), numbers.reshape(-1, *shape[1:])))

    detail = f"sparse gradients of {str(parameter.dtype).removeprefix('torch.')}{list(shape)}"
    work = group.begin("DistributedDataParallel", detail, f"sparse {shape}", run)
    return SparseSum(work, found, shape)
