"""After "modified by an inplace operation": which saved value was written over, and by what."""

from __future__ import annotations

import gc
import re
from dataclasses import dataclass
from typing import Any

from retrograd.doctor.session import Watched
from retrograd.watching.graph import (
    INPLACE,
    Node,
    Overwritten,
    saved_names,
    state_of,
    storage_of,
)
from retrograd.watching.lines import LEAF
from retrograd.watching.records import Call, Failure, OptimizerStep
from retrograd.watching.torch_types import TensorLike


@dataclass
class SavedValue:
    """A saved value whose memory was written since: by whom it was saved, and the versions."""

    node: Node  # that saved it
    number: int
    tensor: TensorLike  # shares the memory and its version
    storage: int
    version: int  # now
    expected: int  # when it was saved
    failure: Failure
    producer: str  # beginning of the name of the node that made it; "" for a leaf

    @property
    def call(self) -> Call:
        """The call that failed."""
        return self.failure.call


def versions_in(error: BaseException) -> tuple[int, int] | None:
    """The version that the memory has now, and the one that the saving node has seen."""
    found = re.search(r"is at version (\d+); expected version (\d+)", str(error))
    return None if found is None else (int(found[1]), int(found[2]))


def shape_in(error: BaseException) -> str | None:
    """The shape of the saved value as the message writes it: "2, 4"."""
    found = re.search(r"\[[\w.]+ \[([\d, ]*)\]\]", str(error))
    return None if found is None else found[1]


def find_overwritten(watched: Watched) -> SavedValue | None:
    """The saved value at which the failing call stopped: the engine takes high numbers first."""
    failure = watched.recorder.failure
    if failure is None or INPLACE not in str(failure.error):
        return None
    versions = versions_in(failure.error)
    if versions is None:
        return None
    version, expected = versions
    output = re.search(r"which is output \d+ of (\w+)", str(failure.error))
    made = "" if output is None else output[1].removesuffix("0").removesuffix("Backward")
    numbered = [(number, node) for node, number in failure.nodes.items() if number < LEAF]
    for number, node in sorted(numbered, key=lambda pair: -pair[0]):
        if isinstance(state_of(node), Overwritten):
            tensor = _saved_at_version(node, version)
            if tensor is not None:
                storage = memory_of(tensor)
                if storage is None:
                    return None
                return SavedValue(node, number, tensor, storage, version, expected, failure, made)
    return None


def _saved_at_version(node: Node, version: int) -> Any | None:
    """The value saved by a node that cannot be read because its memory is at a version now."""
    for name in saved_names(node):
        raw = getattr(node, f"_raw_{name}")
        kept = list(raw) if isinstance(raw, (tuple, list)) else [raw]
        if any(getattr(saved, "unpack_hook", None) is not None for saved in kept):
            continue
        try:
            getattr(node, name if name == "saved_tensors" else f"_{name}")
        except RuntimeError as error:
            shape = shape_in(error)
            for saved in kept:
                tensor = getattr(saved, "data", None)
                if tensor is None or tensor._version != version:
                    continue
                if shape is None or shape == ", ".join(map(str, tensor.shape)):
                    return tensor
    return None


def writes_into_views(failure: Failure) -> list[Node]:
    """The writes since a value was saved whose saving node is hidden, by what the graph shows.

    An operation in place on a view keeps its own node inside the one of the whole tensor, where
    nothing can be asked about it. But each such write is a node, which follows the write before.
    """
    versions = versions_in(failure.error)
    if versions is None:
        return []
    version, expected = versions
    copies = {node for node in failure.nodes if node.name().endswith("CopySlices")}
    before = {node: node.next_functions[0][0] for node in copies if node.next_functions}
    for last in sorted(copies - set(before.values()), key=lambda node: -failure.nodes[node]):
        chain: list[Node] = []
        node: Node = last
        while node in copies:
            chain.insert(0, node)
            node = before.get(node)
        if len(chain) >= version > expected:
            return chain[len(chain) - (version - expected) :]
    return []


def optimizers_parameter(saved: SavedValue, watched: Watched) -> Any | None:
    """The parameter of an optimizer that lies in the memory of the saved value."""
    for optimizer in watched.recorder.gradients.optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if memory_of(parameter) == saved.storage:
                    return parameter
    return None


def any_parameter(saved: SavedValue, watched: Watched) -> Any | None:
    """A leaf that requires grad, or an `nn.Parameter`, in the memory of the saved value."""
    torch = watched.recorder.torch
    for tensor in gc.get_objects():
        if issubclass(type(tensor), torch.Tensor) and tensor.is_leaf:
            if tensor.requires_grad or isinstance(tensor, torch.nn.Parameter):
                if memory_of(tensor) == saved.storage:
                    return tensor
    return None


def memory_of(tensor: TensorLike) -> int | None:
    """The address of a tensor's memory; None of those that have none of their own, as sparse."""
    try:
        return storage_of(tensor)
    except (RuntimeError, NotImplementedError):
        return None


def step_after(saved: SavedValue, parameter: TensorLike, watched: Watched) -> OptimizerStep | None:
    """The first step of the parameter's optimizer since it was saved."""
    steps = watched.recorder.gradients.steps
    for step in steps:
        if step.number > saved.number and id(parameter) in step.parameters:
            return step
    return None
