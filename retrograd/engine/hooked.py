"""Nodes that have hooks: what they see, in which order, and what they may replace."""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.engine.accumulate import (
    HooksDone,
    call_tensor_hooks,
    is_accumulator,
    with_grad_mode,
)
from retrograd.engine.fitting import fitted
from retrograd.engine.hooks import check_node_hook
from retrograd.engine.node import BackwardCall, Node, dressed
from retrograd.engine.ownership import ALONE
from retrograd.engine.sparse_array import as_array
from retrograd.engine.state import IN_HOOK, set_grad_mode
from retrograd.tensor import Tensor, wrap

if TYPE_CHECKING:
    from retrograd.engine.node import Gradient, Need, Part

ndarray = np.ndarray


def boxed(gradient: Gradient) -> list[Tensor | None]:
    """Gradients as a list of Tensors."""
    parts = gradient if isinstance(gradient, list) else [gradient]
    return [p if p is None or isinstance(p, Tensor) else wrap(p) for p in parts]


def _unboxed(node: Node, tensors: list[Tensor | None], raw: bool) -> Gradient:
    """What `boxed` was given, or what hooks have made of it."""
    parts: list[Part] = list(tensors)
    if raw:
        parts = [None if p is None else p._array for p in tensors]
    if not isinstance(node.shape, list):
        return parts[0]
    return parts + [None] * (len(node.shape) - len(parts))


def hook_gradient(node: Node, gradient: Gradient, as_tensors: bool) -> Gradient:
    """The gradient after the tensor hooks, of a node that itself will not run."""
    meta = node.saved[0]._meta if is_accumulator(node) else None
    if node.extra is None and (meta is None or not meta.hooks):
        return gradient
    tensors = boxed(gradient)
    call_tensor_hooks(node, tensors)
    return _unboxed(node, tensors, not as_tensors)


def run_late_hooks(node: Node, results: Sequence[Any], *, raw: bool) -> Sequence[Any]:
    """The results of a node that had no hooks, after those that its own run has registered."""
    extra = node.extra
    if extra is None or not extra.post:
        return results
    if not raw:
        return _after(node, list(results), (), raw)
    arrays: list[Part] = [None if r is None else as_array(r) for r in results]
    hooked = with_grad_mode(False, lambda: _after(node, arrays, (), raw))
    return [r._array if isinstance(r, Tensor) else r for r in hooked]


def _after(
    node: Node, results: list[Part], seen: tuple[Tensor | None, ...], raw: bool
) -> list[Tensor | None]:
    """Call the post hooks with the results, and with what the node was sent."""
    extra = node.extra
    assert extra is not None and extra.post is not None
    results = fitted(node, results, not raw)
    tensors = tuple(boxed(results))
    for hook in list(extra.post.values()):
        result = hook(tensors, seen)
        if result is not None:
            tensors = check_node_hook(tensors, result, hook)
    return list(tensors)


def run_hooked(
    node: Node, held: list[Gradient], call: BackwardCall, need: set[Node] | None, *, raw: bool
) -> Sequence[Part]:
    """Run a node that has hooks; they see Tensors, in PyTorch's order.

    held  the gradient alone. It is taken out: what hooks replace then lives in no caller's hands
    """
    set_grad_mode(call.create_graph, None if call.create_graph else IN_HOOK)
    extra = node.extra
    tensors = boxed(held.pop())[: node.carried()]
    if extra is not None:
        call_tensor_hooks(node, tensors)
        for hook in list((extra.pre or {}).values()):
            given = tuple(tensors)
            result = hook(given)
            if result is not None:
                tensors = list(check_node_hook(given, result, hook))
            given = result = ()
    post = None if extra is None else extra.post
    seen = tuple(tensors) if post else ()
    told: Need = need
    if is_accumulator(node):
        # `.grad` may be what post hooks see, but nothing that a hook before has kept: the list, the
        # tuple and getrefcount's argument hold the Tensor, no one else
        told = HooksDone(1 if post and getrefcount(tensors[0]) <= ALONE else 0)
    sent = _unboxed(node, tensors, raw)
    tensors = []
    results: list[Part]
    if not raw:
        results = list(dressed(node).run_recorded(sent, told, None))
    else:
        results = [None if r is None else as_array(r) for r in node.run(node, sent, told, None)]
    sent = None
    # a rule of one input runs even where nobody waits for its result; hooks must not see that
    if node.hides_unwanted:
        results = [
            r if edge is not None and (need is None or edge in need) else None
            for r, edge in zip(results, node.edges, strict=False)
        ]
    if node.extra is not None and node.extra.post:  # some may have come while the node ran
        results = list(_after(node, results, seen, raw))
    if call.frees(node):
        dressed(node).release(call)
    if raw:
        results = [r._array if isinstance(r, Tensor) else r for r in results]
    return results
