"""What a backward call keeps of the graph that it walks: the argument `retain_graph`.

A bool keeps everything or nothing, as in PyTorch. A list of tensors keeps what is behind them, so
that the graph of a carried state or of a shared trunk stays while the rest of the step goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias, TypeVar

from retrograd.engine.cutting import nodes_behind
from retrograd.engine.letting_go import release_arrays
from retrograd.engine.node import BackwardCall, Node
from retrograd.engine.views import edge_of
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor

_T = TypeVar("_T")
Retain: TypeAlias = bool | Sequence[Tensor] | Literal["recompute"] | None


def is_plain(retain_graph: object) -> bool:
    """Whether the argument is a truth value; raises, naming it, if it can mean nothing at all."""
    if isinstance(retain_graph, (list, tuple)):
        return False
    if isinstance(retain_graph, Tensor) and retain_graph.is_floating_point():
        raise TypeError(
            "retain_graph takes several tensors as a list: write retain_graph=[h] to keep the "
            "graph behind h"
        )
    if isinstance(retain_graph, str):
        if retain_graph == "recompute":
            return False
        raise ValueError(
            f'retain_graph must be a bool, a list of tensors or "recompute", not {retain_graph!r}'
        )
    if isinstance(retain_graph, Iterable) and not isinstance(retain_graph, Tensor):
        raise TypeError(
            'retain_graph must be a bool, a list of tensors or "recompute", not '
            f"{type(retain_graph).__name__}"
        )
    return True


def _history(index: int, tensor: object) -> Node:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"retain_graph: element {index} of the list is no tensor but {type(tensor).__name__}"
        )
    node = edge_of(tensor)
    if node is None:
        raise runtime_error(
            f"retain_graph: element {index} of the list does not require grad, so that there is "
            "no graph behind it to keep",
            code="RG103",
        )
    return node


def retaining(
    call: BackwardCall, retain_graph: Retain, roots: Iterable[Node], run: Callable[[], _T]
) -> _T:
    """Run a call whose `retain_graph` is not a truth value."""
    if not isinstance(retain_graph, (list, tuple)):
        roots = tuple(roots)
        found = run()
        release_arrays(roots)
        return found
    call.kept = nodes_behind(_history(index, x) for index, x in enumerate(retain_graph))
    try:
        return run()
    finally:
        call.kept = frozenset()  # nodes that it freed point at it, and must not keep others alive
