"""Nodes that have hooks: what they see, in which order, and what they may replace."""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

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
from retrograd.engine.sparse_array import SPARSE_ARRAY, as_array
from retrograd.engine.state import IN_HOOK, set_grad_mode
from retrograd.tensor import Tensor, wrap

ndarray = np.ndarray


def _boxed(gradient: Any, raw: bool) -> list[Any]:
    """The gradients of a node's outputs as a list of Tensors."""
    parts = gradient if isinstance(gradient, list) else [gradient]
    if not raw:
        return list(parts)
    return [None if part is None else wrap(part) for part in parts]


def _unboxed(node: Node, boxed: Sequence[Any], raw: bool) -> Any:
    """What `_boxed` was given, or what hooks have made of it."""
    parts = [p._array if isinstance(p, Tensor) else p for p in boxed] if raw else list(boxed)
    return parts if isinstance(node.shape, list) else parts[0]


def hook_gradient(node: Node, gradient: Any, as_tensors: bool) -> Any:
    """The gradient after the tensor hooks, of a node that itself will not run."""
    meta = node.saved[0]._meta if is_accumulator(node) else None
    if node.extra is None and (meta is None or not meta.hooks):
        return gradient
    boxed = _boxed(gradient, not as_tensors)
    call_tensor_hooks(node, boxed)
    return _unboxed(node, boxed, not as_tensors)


def run_late_hooks(node: Node, results: Any, *, raw: bool) -> Any:
    """The results of a node that had no hooks, after those that its own run has registered."""
    extra = node.extra
    if extra is None or not extra.post:
        return results
    if not raw:
        return _after(node, list(results), (), raw)
    arrays = [None if r is None else as_array(r) for r in results]
    hooked = with_grad_mode(False, lambda: _after(node, arrays, (), raw))
    return [r._array if isinstance(r, Tensor) else r for r in hooked]


def _after(node: Node, results: list[Any], seen: tuple[Any, ...], raw: bool) -> list[Any]:
    """Call the post hooks with the results, and with what the node was sent."""
    extra = node.extra
    assert extra is not None and extra.post is not None
    results = fitted(node, results, not raw)
    tensors: tuple[Any, ...] = tuple(
        wrap(r) if isinstance(r, (ndarray, SPARSE_ARRAY)) else r for r in results
    )
    for hook in list(extra.post.values()):
        result = hook(tensors, seen)
        if result is not None:
            tensors = check_node_hook(tensors, result, hook)
    return list(tensors)


def run_hooked(node: Node, gradient: Any, call: BackwardCall, need: Any, *, raw: bool) -> Any:
    """Run a node that has hooks; they see Tensors, in PyTorch's order."""
    set_grad_mode(call.create_graph, None if call.create_graph else IN_HOOK)
    extra = node.extra
    boxed = _boxed(gradient, raw)
    gradient = None
    if extra is not None:
        call_tensor_hooks(node, boxed)
        for hook in list((extra.pre or {}).values()):
            given = tuple(boxed)
            result = hook(given)
            if result is not None:
                boxed = list(check_node_hook(given, result, hook))
            given = result = ()
    post = None if extra is None else extra.post
    seen = tuple(boxed) if post else ()
    if is_accumulator(node):
        # `.grad` may be what post hooks see, but nothing that a hook before has kept: the list, the
        # tuple and getrefcount's argument hold the Tensor, no one else
        need = HooksDone(1 if post and getrefcount(boxed[0]) <= ALONE else 0)
    if not raw:
        sent = boxed if isinstance(node.shape, list) else boxed[0]
        results = list(dressed(node).run_recorded(sent, need, None))
    else:
        sent = _unboxed(node, boxed, raw)
        boxed = []
        results = [None if r is None else as_array(r) for r in node.run(node, sent, need, None)]
    sent = None
    # a rule of one input runs even where nobody waits for its result; hooks must not see that
    if node.hides_unwanted:
        results = [
            r if edge is not None and (need is None or edge in need) else None
            for r, edge in zip(results, node.edges, strict=False)
        ]
    if node.extra is not None and node.extra.post:  # some may have come while the node ran
        results = _after(node, results, seen, raw)
    if not call.retain_graph:
        dressed(node).release(call)
    if raw:
        results = [r._array if isinstance(r, Tensor) else r for r in results]
    return results
