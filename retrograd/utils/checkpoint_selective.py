"""Selective checkpointing: a policy says which results are kept, all others are computed again.

The contexts that `create_selective_checkpoint_contexts` returns are modes between ops and their
kernels (`calling.op_modes`). In the forward pass the policy is asked about every op, and the
results that it wants to save are kept, per op in the order of the calls. In the recomputation the
calls come in the same order: a kept result is returned in place of a new one. The graph is recorded
as usual.

A kept result goes when it is returned, so backward through the region can run once.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from retrograd.engine.state import STATE, Block, set_grad_mode
from retrograd.notices import runtime_error
from retrograd.ops.calling.aten_arguments import aten_arguments
from retrograd.ops.calling.aten_names import overload_name
from retrograd.ops.calling.op_modes import Computed
from retrograd.ops.calling.overloads import OpOverload, OpOverloadPacket, overload_named
from retrograd.ops.registry import Op
from retrograd.tensor import Tensor, cell_of, wrap


class CheckpointPolicy(enum.Enum):
    """What a policy answers: whether the results of an op are saved or computed again.

    There is one memory here: those of ``*_CPU_OFFLOAD`` are computed again, as PyTorch does it
    outside of its compiler.

    >>> from retrograd.utils.checkpoint import CheckpointPolicy
    >>> CheckpointPolicy.MUST_SAVE
    <CheckpointPolicy.MUST_SAVE: 0>
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """The first argument of a policy: `op_output` is what the op gave.

    A policy is asked in the forward pass only, so `is_recompute` is always False, as in PyTorch.

    >>> from retrograd.utils.checkpoint import SelectiveCheckpointContext
    >>> SelectiveCheckpointContext(is_recompute=False).is_recompute
    False
    """

    def __init__(self, *, is_recompute: bool, op_output: object = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


# Ops that no policy is asked about: a checkpoint detaches and describes tensors itself.
SAC_IGNORED_OPS: set[OpOverload] = {
    overload_named(name)
    for name in (
        *("aten.detach.default", "aten.dim.default", "aten.is_contiguous.default"),
        *("aten.is_contiguous.memory_format", "aten.is_non_overlapping_and_dense.default"),
        *("aten.is_strides_like_format.default", "aten.numel.default", "aten.size.default"),
        *("aten.storage_offset.default", "aten.stride.default", "aten.sym_numel.default"),
        *("aten.sym_size.default", "aten.sym_storage_offset.default", "aten.sym_stride.default"),
        "prim.device.default",
    )
}

_SAVING = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., object] | list[OpOverload],
    allow_cache_entry_mutation: bool = False,
) -> tuple[_Keeping, _Recalling]:
    """The two contexts of a checkpoint that keeps the results of some ops.

    A policy is called as ``policy(context, op, *args, **kwargs)`` after each op of the forward
    pass. A list of ops stands for the policy that saves these.

    >>> from functools import partial
    >>> from retrograd.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> keep = partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.eye(2, requires_grad=True)
    >>> y = checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=keep)
    >>> y.sum().backward()
    """
    policy: Callable[..., object]
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            _check_overload(op)
        policy = _saves(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    calls: _Calls = defaultdict(list)
    keeping = _Keeping(policy, calls)
    return keeping, _Recalling(keeping, calls, allow_cache_entry_mutation)


def _check_overload(op: object) -> None:
    if isinstance(op, OpOverload):
        return
    advice = ""
    if isinstance(op, OpOverloadPacket):
        advice = (
            "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have "
            "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
        )
    raise ValueError(
        f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {advice}"
    )


def _saves(ops: Sequence[OpOverload]) -> Callable[..., CheckpointPolicy]:
    def policy(
        context: object, op: OpOverload, *args: object, **kwargs: object
    ) -> CheckpointPolicy:
        if op in ops:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    return policy


# ------------------------------------------------------------------------------- kept results


class _Mark(enum.Enum):
    """What stands in the place of a result that is not kept."""

    RECOMPUTE = enum.auto()
    CONSUMED = enum.auto()  # it was kept, and returned


class _Kept:
    """The results of one call, without history, and the versions they had."""

    __slots__ = ("half", "tensors", "versions")

    def __init__(self, tensors: Sequence[Tensor], half: object) -> None:
        self.tensors = [_alias(tensor) for tensor in tensors]
        self.versions = [cell_of(tensor).version for tensor in tensors]
        self.half = half

    def was_mutated(self) -> bool:
        """Whether one of the tensors was written to since."""
        now = [cell_of(tensor).version for tensor in self.tensors]
        return now != self.versions


def _alias(tensor: Tensor) -> Tensor:
    """The same memory and version counter, nothing else."""
    made = wrap(tensor._array)
    made._cell = cell_of(tensor)
    return made


_Calls = defaultdict[OpOverload, list[_Kept | _Mark]]


def _must_run(op: Op, form: str) -> bool:
    """Whether a kept call runs again all the same.

    A view belongs to the memory of its base, an op in place has to write, and random numbers are
    drawn again so that those after them are the same as before.
    """
    return op.view is not None or form != "" or "generator" in op.plan.places


# --------------------------------------------------------------------------------- the contexts


class _Mode(Block):
    """``with mode:`` ops of this thread go through its `run`."""

    def __init__(self, instead_of: _Mode | None = None) -> None:
        self._instead_of = instead_of

    @property
    def _entered(self) -> _Mode:
        return self

    def _inside(self) -> dict[str, object]:
        outer = [mode for mode in STATE.op_modes if mode is not self._instead_of]
        return {"op_modes": (*outer, self)}


class _Keeping(_Mode):
    """Around the forward pass: asks the policy, and keeps what it says."""

    def __init__(self, policy: Callable[..., object], calls: _Calls) -> None:
        super().__init__()
        self.policy = policy
        self.calls = calls

    def run(
        self, op: Op, args: tuple[Any, ...], targets: Sequence[Any], form: str, compute: Any
    ) -> Computed:
        """Run an op and note what becomes of its results."""
        outputs, half = compute()
        overload = overload_named(overload_name(op, args, form))
        answer = self._ask(op, overload, args, targets, form, outputs)
        entry: _Kept | _Mark = _Mark.RECOMPUTE
        if answer is True or answer in _SAVING:
            if form:  # what it writes to, which counts the write after this
                entry = _Kept(targets, half)
            else:
                entry = _Kept([] if op.view is not None else outputs, half)
        self.calls[overload].append(entry)
        return outputs, half

    def _ask(
        self,
        op: Op,
        overload: OpOverload,
        args: tuple[object, ...],
        targets: Sequence[object],
        form: str,
        outputs: list[Tensor],
    ) -> Any:
        positional, keywords = aten_arguments(op, args)
        if form == "out":
            keywords["out"] = targets[0] if op.outputs == 1 else tuple(targets)
        output = outputs[0] if op.outputs == 1 else tuple(outputs)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=output)
        enabled, cut = STATE.grad_enabled, STATE.cut
        try:
            set_grad_mode(False)  # what the policy computes is no part of the function
            return self.policy(context, overload, *positional, **keywords)
        finally:
            set_grad_mode(enabled, cut)


_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend "
    "on global state that changed between forward and backward."
)


class _Recalling(_Mode):
    """Around the recomputation: returns what was kept.

    A recomputation ends when all that was saved is there again. Where the operands of an op are the
    last of it, PyTorch does not come to the op itself. Here they are saved right after it, so what
    follows from such a call, an error or that its result is used up, waits for the next one.
    """

    def __init__(self, keeping: _Keeping, calls: _Calls, allow_mutation: bool) -> None:
        # backward inside of the checkpointed function recomputes during the forward pass
        super().__init__(instead_of=keeping)
        self.calls = calls
        self.allow_mutation = allow_mutation
        self.seen: defaultdict[OpOverload, int] = defaultdict(int)
        self.pending: Callable[[], None] | None = None

    def _inside(self) -> dict[str, object]:
        self.seen.clear()  # a recomputation for a second backward call starts over
        self.pending = None
        return super()._inside()

    def _left(self, failed: bool) -> None:
        if not failed:
            self._settle()

    def _settle(self) -> None:
        """The last call was not the end."""
        pending, self.pending = self.pending, None
        if pending is not None:
            pending()

    def run(
        self, op: Op, args: tuple[object, ...], targets: Sequence[object], form: str, compute: Any
    ) -> Computed:
        """Return what was kept of a call, or compute it."""
        self._settle()
        overload = overload_named(overload_name(op, args, form))
        index = self.seen[overload]
        self.seen[overload] += 1
        entry, follows = self._find(overload, index)
        if any(save.kind == "input" for save in op.plan.saves):
            self.pending = follows
        else:
            follows()
        if isinstance(entry, _Kept) and not _must_run(op, form):
            return [_alias(tensor) for tensor in entry.tensors], entry.half
        outputs, half = compute()
        if isinstance(entry, _Kept) and op.view is None and not form:
            outputs = [_alias(tensor) for tensor in entry.tensors]
        return outputs, half

    def _find(self, overload: OpOverload, index: int) -> tuple[_Kept | None, Callable[[], None]]:
        """What was kept of a call, if anything, and what follows from the call."""
        calls = self.calls.get(overload)
        if calls is None:
            return None, _raises(
                f"{overload} encountered during backward but not found in storage. {_MISMATCH}",
                "RG118",
            )
        if index >= len(calls):
            return None, _raises(
                f"{overload} invocation index {index} encountered during backward but not found "
                f"in storage. {_MISMATCH}",
                "RG118",
            )
        entry = calls[index]
        if entry is _Mark.CONSUMED:
            return None, _raises(
                "Trying to backward an extra time. You are only allowed to backward once on any "
                "region computed under selective activation checkpoint.",
                "RG101",
            )
        if entry is _Mark.RECOMPUTE:
            return None, _nothing
        consume = partial(calls.__setitem__, index, _Mark.CONSUMED)
        if entry.was_mutated() and not self.allow_mutation:
            return None, partial(_consume_mutated, consume)
        return entry, consume


def _nothing() -> None:
    pass


def _consume_mutated(consume: Callable[[], None]) -> None:
    consume()
    raise runtime_error(
        "Tensor cached during selective activation checkpoint has been mutated", code="RG102"
    )


def _raises(message: str, code: str) -> Callable[[], None]:
    def fail() -> None:
        raise runtime_error(message, code=code)

    return fail
