"""`graph.unchain`: backpropagation through a window that slides along a recurrence."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from sys import _getframe
from typing import TypeVar
from weakref import WeakKeyDictionary

from retrograd.engine.cutting import cut_behind, nodes_behind
from retrograd.engine.node import Node
from retrograd.engine.state import STATE
from retrograd.engine.views import edge_of
from retrograd.tensor import Tensor

_State = TypeVar("_State")

# Nodes that were handed in: the recurrence that they belong to, and the number of the call.
_HANDED_IN: WeakKeyDictionary[Node, tuple[Hashable, int]] = WeakKeyDictionary()
_numbers = itertools.count(1)

_TORCH = (
    "graph.unchain() cannot cut the history of a PyTorch tensor: PyTorch gives no way to change "
    "the edges of its graph from Python. Keep the last inputs and the state before them, and run "
    "the window again from that state: h = past_state.detach(); for x in last_inputs: "
    "h = cell(x, h)"
)


def unchain(
    t: _State,
    steps: int | None = None,
    *,
    at: object = None,
    chain: Hashable = None,
) -> _State:
    """Cut the history of a recurrent state `steps` steps back, and return the state.

    One call is one step: hand the state in once in every pass of the loop. What was handed in
    `steps` calls ago becomes an end of the graph, as if it had been detached then: the last
    `steps` updates of the state stay differentiable, and everything older is let go of.

    t      the state: a tensor, or a tuple or list of all its tensors (an LSTM's `(h, c)`)
    steps  how many updates to keep, at least 1. With fewer calls so far nothing is cut
    at     instead of `steps`: the earlier state itself, or a tuple or list of its tensors
    chain  what tells recurrences apart. By default the place of the call in your program. Give
           something of your own, a layer's name say, if one line serves several recurrences

    >>> from retrograd import graph
    >>> w = torch.tensor(0.5, requires_grad=True)
    >>> h = torch.tensor(1.0)
    >>> for _ in range(6):
    ...     h = graph.unchain(h * w, steps=2)
    >>> h.backward()
    >>> w.grad                 # of (c * w) * w, where c is the state two steps ago: 2 * c * w
    tensor(0.0625)
    """
    tensors = list(_tensors_in(t, "t"))
    if STATE.call is not None:
        raise RuntimeError(
            "graph.unchain() was called while a backward pass runs (in a hook or a custom "
            "Function): call it before or after backward()"
        )
    roots = [node for node in map(edge_of, tensors) if node is not None]
    if at is not None:
        if steps is not None:
            raise TypeError("graph.unchain() takes steps or at, not both")
        ends = {node for node in map(edge_of, _tensors_in(at, "at")) if node is not None}
        if not ends.isdisjoint(roots):
            raise ValueError(
                "graph.unchain(): at names the state itself; to cut all of its history use "
                "t.detach()"
            )
        cut_behind(roots, ends)
        return t
    if isinstance(steps, bool) or not isinstance(steps, int):
        raise TypeError(
            f"graph.unchain() needs steps, a whole number, or at; got {type(steps).__name__}"
        )
    if steps < 1:
        raise ValueError(
            f"graph.unchain(): steps must be 1 or more, got {steps}; to keep none use t.detach()"
        )
    caller = _getframe(1)
    name = (caller.f_code, caller.f_lasti) if chain is None else (chain,)
    _slide(roots, steps, name)
    return t


def _slide(roots: list[Node], steps: int, chain: Hashable) -> None:
    """Note that the roots are the recurrence's newest state, and cut at the one `steps` before."""
    now = next(_numbers)
    computed = [root for root in roots if root.edges]  # a leaf is where its history begins
    for root in computed:
        _HANDED_IN[root] = (chain, now)
    earlier: dict[int, list[Node]] = {}
    for node in nodes_behind(computed):
        name, number = _HANDED_IN.get(node, (None, 0))
        if number and name == chain:
            earlier.setdefault(number, []).append(node)
    numbers = sorted(earlier, reverse=True)
    ends = {node for number in numbers[steps:] for node in earlier[number]}
    if ends:
        cut_behind(computed, ends)


def _tensors_in(value: object, name: str) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors_in(item, name)
    elif any(kind.__module__.partition(".")[0] == "torch" for kind in type(value).__mro__):
        raise TypeError(_TORCH)
    else:
        raise TypeError(
            f"graph.unchain(): {name} must be a tensor or a tuple or list of tensors, got "
            f"{type(value).__name__}"
        )
