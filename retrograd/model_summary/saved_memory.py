"""What a graph keeps for its backward pass, in bytes of memory.

Values are found where the nodes keep them, so nothing is recorded while a program runs.

>>> import retrograd as torch
>>> x = torch.ones(4, requires_grad=True)
>>> y = (x * 2).exp().exp()
>>> [array.nbytes for node in graph_nodes([y.grad_fn]) for array in saved_arrays(node)]
[16, 16]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from retrograd.engine.accumulate import is_accumulator
from retrograd.engine.node import Node
from retrograd.engine.packing import SavedTensor
from retrograd.tensor import Tensor
from retrograd.utils.checkpoint_frames import CheckpointInputs, Frame


def graph_nodes(roots: Iterable[Any]) -> list[Node]:
    """All nodes behind the roots in the order in which they were made."""
    seen: dict[int, Node] = {}
    waiting = [node for node in roots if node is not None]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        waiting += [edge for edge in node.edges if edge is not None]
        waiting += _checkpoints(node)
    return sorted(seen.values(), key=lambda node: node.sequence)


def _checkpoints(node: Node) -> Iterator[CheckpointInputs]:
    """What keeps the arguments of the checkpointed call that a node belongs to, if it is in one."""
    for value in node.saved:
        if isinstance(value, SavedTensor):
            frame = getattr(value.unpack_hook, "__self__", None)
            if isinstance(frame, Frame):
                yield frame.inputs


def saved_arrays(node: Node) -> Iterator[Any]:
    """The arrays that a node keeps; packed values count if they are tensors or arrays.

    A leaf's accumulator refers to the leaf, but not for a value that backward needs.
    """
    if isinstance(node, CheckpointInputs):
        yield from _arrays(node.arguments)
    elif not is_accumulator(node):
        yield from _arrays(node.saved)


def _arrays(value: object) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Tensor):
        yield value._array
    elif isinstance(value, SavedTensor):
        yield from _arrays(value.data)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _arrays(item)
