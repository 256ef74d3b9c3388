"""`register_multi_grad_hook`: one hook on the gradients of several tensors."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd.custom.context import engine_node
from retrograd.engine.accumulate import accumulator, is_accumulator
from retrograd.engine.edges import shown_node
from retrograd.engine.hooks import RemovableHandle
from retrograd.engine.node import BackwardCall, Node
from retrograd.engine.state import STATE
from retrograd.engine.views import edge_of
from retrograd.tensor import Tensor

_MODES = ("all", "any")


class _MultiHandle(RemovableHandle):
    """Removes all of a group of hooks."""

    handles: tuple[RemovableHandle, ...]

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Take the hooks out; a second call does nothing."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[RemovableHandle, ...]:
        return self.handles

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call one hook when the gradients of several tensors are there.

    With ``mode="all"`` it gets a list of all of them, once in every backward pass; tensors that the
    pass does not reach have None there. With ``mode="any"`` it gets the first gradient that comes.
    The handle that comes back removes the hook.

    >>> a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    >>> c, d = a * b, a * b
    >>> handle = torch.autograd.graph.register_multi_grad_hook(
    ...     (a, b, c, d), lambda grads: print([g is not None for g in grads])
    ... )
    >>> c.sum().backward(retain_graph=True)
    [True, True, True, False]
    >>> c.sum().backward(inputs=(a,), retain_graph=True)
    [True, False, True, False]
    """
    if mode not in _MODES:
        raise ValueError(f"Expects mode to be one of {_MODES} but got {mode}")
    register = _register_all if mode == "all" else _register_any
    return _MultiHandle(register(tensors, fn))


class _Collector:
    """Waits in each backward call for the gradients that the call will bring.

    It is a hook of the nodes it waits for, so it knows them weakly; a leaf, which may get a new
    accumulator, by the tensor.
    """

    def __init__(self, tensors: Sequence[Tensor], hook: Callable[[Any], None]) -> None:
        self._hook = hook
        nodes = [engine_node(shown_node(tensor)) for tensor in tensors]
        self._targets: list[weakref.ref[Tensor | Node]] = [
            weakref.ref(tensor if is_accumulator(node) else node)
            for tensor, node in zip(tensors, nodes, strict=True)
        ]
        self._lock = threading.Lock()
        # how many gradients of a call are still to come, and those that came
        self._open: weakref.WeakKeyDictionary[BackwardCall, tuple[list[int], list[Tensor | None]]]
        self._open = weakref.WeakKeyDictionary()

    def arrived(self, place: int, gradient: Tensor) -> None:
        """A hook on one of the tensors."""
        call = _running_call()
        with self._lock:
            if call not in self._open:
                expected = sum(will_run(self._nodes(), call))
                self._open[call] = ([expected], [None] * len(self._targets))
            left, gradients = self._open[call]
            left[0] -= 1
            gradients[place] = gradient
            complete = left[0] == 0
            if complete:
                del self._open[call]
        if complete:
            self._hook(gradients)

    def _nodes(self) -> list[Node | None]:
        found = [target() for target in self._targets]
        # a leaf that no longer requires grad still is part of older graphs
        return [edge_of(x) or accumulator(x) if isinstance(x, Tensor) else x for x in found]


def _register_all(
    tensors: Sequence[Tensor], hook: Callable[[Any], None]
) -> tuple[RemovableHandle, ...]:
    collector = _Collector(tensors, hook)
    return tuple(
        tensor.register_hook(functools.partial(collector.arrived, place))
        for place, tensor in enumerate(tensors)
    )


def _register_any(
    tensors: Sequence[Tensor], hook: Callable[[Any], None]
) -> tuple[RemovableHandle, ...]:
    lock = threading.Lock()
    done: weakref.WeakSet[BackwardCall] = weakref.WeakSet()

    @functools.wraps(hook)
    def first(gradient: Tensor) -> None:
        call = _running_call()
        with lock:
            before = call in done
            done.add(call)
        if not before:
            hook(gradient)

    return tuple(tensor.register_hook(first) for tensor in tensors if tensor.requires_grad)


def _running_call() -> BackwardCall:
    call: BackwardCall | None = STATE.call
    if call is None:
        raise AssertionError("expected this hook to be called inside a backward call")
    return call


def will_run(nodes: Sequence[Node | None], call: BackwardCall) -> list[bool]:
    """For each node whether a backward call that is running comes to it."""
    reached = _behind(call.root_nodes)
    if call.need is None:
        return [node in reached for node in nodes]
    # which knows all that was asked for, even what is not reached
    found = [node in reached and node in call.need for node in nodes]
    for node, runs in zip(nodes, found, strict=True):
        if runs and call.kind == "grad" and node is not None and is_accumulator(node):
            raise RuntimeError(
                "A leaf node was passed to _will_engine_execute_node but we are currently "
                "running autograd.grad(). This is currently not supported."
            )
    return found


def _behind(roots: tuple[Node, ...]) -> set[Node]:
    """All nodes that the roots lead to."""
    found = set(roots)
    stack = list(roots)
    while stack:
        for target in stack.pop().edges:
            if target is not None and target not in found:
                found.add(target)
                stack.append(target)
    return found
