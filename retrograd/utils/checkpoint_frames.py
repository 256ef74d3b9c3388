"""Checkpointed calls: saved tensors that are computed again when backward wants them.

A `Frame` is one checkpointed call. While its function runs, a pack hook puts an empty `Slot` where
a node would keep a tensor. The first slot that a backward call unpacks runs the function again, and
that run's pack hook fills the slots in the same order. A filled slot is emptied when it is read, so
a value lives from its recomputation to its use, also with ``retain_graph=True``.

Checkpoints nest: what a call inside a checkpoint saves, and its inputs, belong to the innermost
one. So to fill an inner slot its inputs are unpacked first, which recomputes the outer call.

Values are kept per *group*, by default the backward call: a second call recomputes for itself.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

from retrograd.autograd.saved_hooks import refuse_if_disabled
from retrograd.engine.accumulate import with_grad_mode
from retrograd.engine.node import Node, fill_node
from retrograd.engine.packing import SavedTensor
from retrograd.engine.state import STATE, Block
from retrograd.lifecycle.site import user_site
from retrograd.tensor import Tensor, cell_of, wrap
from retrograd.utils.checkpoint_errors import (
    CheckpointError,
    modified_since,
    number_differs,
    too_many,
    unpacked_twice,
    values_differ,
)

Site = tuple[CodeType | None, int]
_outside = itertools.count(-2, -1)  # groups of unpackings outside of any backward call


class _StopRecomputation(BaseException):
    """Everything that was asked for is there. No Exception: the function must not catch it."""


class _Current(threading.local):
    group: GraphExecGroup | None = None


_CURRENT = _Current()


class GraphExecGroup:
    """Backward calls inside share their recomputations, which then run at most once.

    The calls must not need the same saved value twice.

    >>> from retrograd.utils.checkpoint import GraphExecGroup, checkpoint
    >>> x = torch.ones(1, requires_grad=True)
    >>> y = checkpoint(lambda x: (print("runs"), x.exp())[1], x, use_reentrant=False)
    runs
    >>> with GraphExecGroup():
    ...     y.backward()
    runs
    """

    __module__ = "retrograd.utils.checkpoint"  # where programs find it

    def __enter__(self) -> GraphExecGroup:
        if _CURRENT.group is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {_CURRENT.group}"
            )
        _CURRENT.group = self
        return self

    def __exit__(self, *exception: object) -> None:
        _CURRENT.group = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _CURRENT.group


def _group() -> object:
    """What recomputed values belong to: a group, else the backward call, else nothing else."""
    if _CURRENT.group is not None:
        return _CURRENT.group
    return next(_outside) if STATE.call is None else STATE.call.number


class Slot:
    """Stands in a node where a saved tensor would be."""

    __slots__ = ("__weakref__", "found")

    def __init__(self) -> None:
        # group -> the tensor and its version when it was recomputed; None once it was read
        self.found: dict[object, tuple[Tensor, int] | None] = {}


class _Hooks(Block):
    """``with _Hooks(pack, unpack):`` saved tensors go through these two functions."""

    def __init__(self, pack: Callable[[Tensor], object], unpack: Callable[[Any], Tensor]) -> None:
        self.pair = (pack, unpack)

    def _inside(self) -> dict[str, object]:
        refuse_if_disabled()
        return {"saved_hooks": (*STATE.saved_hooks, self.pair)}


class CheckpointInputs(Node):
    """Keeps the arguments of a checkpointed call, as an op's node keeps what it saves.

    So they are packed by an outer checkpoint, and a write to one of them is noticed.
    """

    __slots__ = ("arguments",)

    def __init__(self, arguments: tuple[object, ...]) -> None:
        fill_node(self, CheckpointInputs)
        self.code, self.lasti = user_site(2)
        self.arguments = [
            SavedTensor(item, self, is_output=False, number=0) if isinstance(item, Tensor) else item
            for item in arguments
        ]

    def unpack(self) -> list[object]:
        """The arguments, as they were."""
        return [x.unpack(self) if isinstance(x, SavedTensor) else x for x in self.arguments]


class Frame:
    """One checkpointed call."""

    def __init__(
        self,
        arguments: tuple[object, ...],
        recompute: Callable[..., None],
        *,
        early_stop: bool,
        describe: Callable[[Tensor], object],
        explain: Callable[[CheckpointError], CheckpointError] | None,
    ) -> None:
        self.inputs = CheckpointInputs(arguments)
        self.recompute = recompute
        self.early_stop = early_stop
        self.describe = describe  # what of a tensor must be the same again
        self.explain = explain  # for debug mode: the error with more to read
        self.completed = False  # the original forward
        self.slots: list[weakref.ref[Slot]] = []
        self.descriptions: list[object] = []
        self.sites: list[Site] = []
        self.runs: dict[object, _Run] = {}  # by group

    def hooks(self) -> _Hooks:
        """The context of the original forward."""
        return _Hooks(self._pack, self._unpack)

    def _pack(self, tensor: Tensor) -> Slot:
        slot = Slot()
        self.slots.append(weakref.ref(slot))
        self.descriptions.append(self.describe(tensor))
        self.sites.append(STATE.pack_site)
        return slot

    def _unpack(self, slot: Slot) -> Tensor:
        try:
            group = _group()
            if group not in self.runs:
                self._run_again(group)
            found = slot.found.get(group)
            if found is None:
                raise unpacked_twice(_CURRENT.group is not None)
            slot.found[group] = None
        except CheckpointError as error:
            if self.explain is None:
                raise
            raise self.explain(error) from error
        tensor, version = found
        if tensor._version != version:
            raise modified_since(tensor, version)
        return tensor

    def _run_again(self, group: object) -> None:
        run = _Run(weakref.ref(self), group)
        try:
            arguments = self.inputs.unpack()
            try:
                with _Hooks(run.pack, _as_it_is):
                    with_grad_mode(True, lambda: self.recompute(*arguments))
            except _StopRecomputation:
                pass
            self._check(run)
        except BaseException:
            for reference in self.slots:
                slot = reference()
                if slot is not None:
                    slot.found.pop(group, None)
            raise
        run.sites.clear()
        self.runs[group] = run

    def _check(self, run: _Run) -> None:
        """The recomputation must have saved the same tensors."""
        if run.unfinished:
            return
        if run.count != len(self.slots):
            raise number_differs(len(self.slots), run.count, self.sites, run.sites)
        different: list[tuple[int, object, object]] = []
        for position, reference in enumerate(self.slots):
            slot = reference()
            if slot is None:
                continue
            found = slot.found[run.group]
            assert found is not None
            before, after = self.descriptions[position], self.describe(found[0])
            if before != after:
                different.append((position, before, after))
        if different:
            raise values_differ(different, self.sites, run.sites)


class _Run:
    """One recomputation of a frame."""

    def __init__(self, frame: weakref.ref[Frame], group: object) -> None:
        self.frame = frame  # weak: the function may keep the recomputed graph, which has our hook
        self.group = group
        self.count = 0
        self.sites: list[Site] = []
        self.unfinished = False  # more was saved than the original forward, still running, has yet

    def pack(self, tensor: Tensor) -> Tensor:
        frame = self.frame()
        assert frame is not None
        kept = _detached(tensor) if tensor.requires_grad else tensor
        self.sites.append(STATE.pack_site)
        position = self.count
        self.count += 1
        if position >= len(frame.slots):
            if frame.completed:
                raise too_many(frame.sites, self.sites)
            self.unfinished = True
            return kept
        slot = frame.slots[position]()
        if slot is not None:  # its node may be gone: backward inside the checkpointed function
            slot.found[self.group] = (kept, kept._version)
        if frame.early_stop and self.count == len(frame.slots):
            raise _StopRecomputation
        return kept


def _detached(tensor: Tensor) -> Tensor:
    """`detach()`, but an ordinary tensor is not told where: nobody asks a saved value."""
    if type(tensor) is not Tensor or tensor.is_inference():
        return tensor.detach()
    made = wrap(tensor._array)
    made._cell = cell_of(tensor)
    return made


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor
