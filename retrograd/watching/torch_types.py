"""What the doctor reads of PyTorch's objects, and of ours: tensors, nodes, modules, optimizers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol


class NodeLike(Protocol):
    """A node of a graph."""

    next_functions: Sequence[tuple[NodeLike | None, int]]

    def name(self) -> str: ...
    def _sequence_nr(self) -> int: ...


class TensorLike(Protocol):
    """A tensor."""

    grad: TensorLike | None
    grad_fn: NodeLike | None
    is_leaf: bool
    is_meta: bool
    requires_grad: bool
    shape: Sequence[int]
    _version: int

    def detach(self) -> TensorLike: ...
    def data_ptr(self) -> int: ...
    def dim(self) -> int: ...
    def is_complex(self) -> bool: ...
    def is_floating_point(self) -> bool: ...
    def double(self) -> Any: ...
    def numel(self) -> int: ...
    def sum(self) -> Any: ...
    def any(self) -> TensorLike: ...
    def untyped_storage(self) -> Any: ...


class ModuleLike(Protocol):
    """A layer or a model."""

    training: bool

    def modules(self) -> Iterator[ModuleLike]: ...
    def named_modules(self) -> Iterator[tuple[str, ModuleLike]]: ...
    def named_parameters(self, *, recurse: bool = True) -> Iterator[tuple[str, TensorLike]]: ...
    def parameters(self, *, recurse: bool = True) -> Iterator[TensorLike]: ...


class OptimizerLike(Protocol):
    """An optimizer."""

    param_groups: list[dict[str, Any]]
