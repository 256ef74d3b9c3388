"""What a running transform knows: which tensors are its own, and what leaves it.

Reverse mode needs no tape of its own. `grad` and `vjp` differentiate with respect to fresh aliases
of their inputs, and the ordinary graph records what happens to them. An alias is

- linked: an op on the input, where the input requires grad. The graph then goes on to the tensors
  outside, so that an outer transform, or `backward()`, can differentiate the result again;
- a leaf of the trace, where it does not. What depends on such leaves only is a constant outside.

A result is `settled` on its way out: it keeps its history if the history leads outside, and loses
it otherwise.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, ClassVar

from retrograd import dtypes
from retrograd.engine import failures
from retrograd.engine.accumulate import accumulator, is_accumulator
from retrograd.engine.node import Node
from retrograd.engine.packing import SavedTensor
from retrograd.engine.state import STATE, TRANSFORMS, Block, next_sequence
from retrograd.engine.views import edge_of
from retrograd.engine.walk import Edge
from retrograd.func.captures import captured_by
from retrograd.notices import explained, runtime_error
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor, VersionCell, cell_of
from retrograd.transforms.batched import BatchedTensor, lift, rewrap, visible_level
from retrograd.transforms.forward import (
    TRACE,
    DualLevel,
    Tangents,
    holder_of,
    is_recorded,
    tangents_of,
)
from retrograd.transforms.trees import tree_map

_SAVED_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an "
    "issue with your use case."
)


class Trace:
    """One call of a transform, from its start until its results are settled."""

    __slots__ = (
        *("__weakref__", "captured", "given", "lent", "level", "links"),
        *("records", "running", "start"),
    )

    # Of all traces that have leaves: a graph that leads to such a leaf can outlive its trace, and
    # everything in it is younger than the trace.
    starts: ClassVar[dict[weakref.ref[Trace], int]] = {}

    def __init__(self, func: Callable[..., object], *, links: bool = False) -> None:
        self.start = next_sequence()
        self.captured = captured_by(func)
        self.given: list[VersionCell | None] = []  # of arguments that may be written
        self.links = links or STATE.grad_enabled  # whether aliases lead to what is outside
        self.level = visible_level()  # the innermost vmap around the call
        self.records = STATE.grad_enabled  # whether results may have a history outside
        self.running = True
        self.lent: list[tuple[Tensor, Tensor, int]] = []  # argument, its alias, its version

    # ------------------------------------------------------------------ inputs

    def alias(self, value: Tensor) -> Tensor:
        """A fresh tensor with the elements of `value`, to differentiate with respect to."""
        if not isinstance(value, Tensor):
            raise explained(
                ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}"),
                code="RG607",
            )
        if value._array.dtype not in dtypes.DIFFERENTIABLE:
            raise failures.nonfloat_flag(method=True)
        if self.links:
            value = lift(value)
            if value.requires_grad:
                linked: Tensor = RECORDED._alias(value)
                assert linked._view is not None
                linked._view.creation = "transform"  # in-place ops are refused, as on a leaf
                return linked
            leaf = bare(value)
        else:
            leaf = _cut_off(lift(value))
        leaf._requires_grad = True
        leaf.__dict__[TRACE] = self
        starts = self.starts
        # not `__del__`: an interrupt that comes while it runs is lost
        starts[weakref.ref(self, starts.pop)] = self.start
        return leaf

    def lend(self, value: object) -> Any:
        """An argument that is not differentiated, as the function sees it.

        A write to it inside must not give the caller's tensor a history that ends in the trace.
        """
        if not isinstance(value, Tensor) or value.requires_grad:
            return value
        made = bare(value)
        self.lent.append((value, made, made._version))
        return made

    def take_back(self, own: DualLevel | None = None) -> None:
        """Hand on what in-place ops did to the arguments; their elements are shared already.

        own  the dual level of the transform itself, whose tangents stay inside
        """
        allowed = [*self.given, *[made._cell for _, made, _ in self.lent]]
        for capture in self.captured:
            capture.refuse_write(allowed)
        for value, made, version in self.lent:
            if made._version == version:
                continue
            outside = self.settled(made)
            tangents = dict((tangents_of(outside) if TRANSFORMS.dual_levels else None) or {})
            if own is not None:
                tangents.pop(own, None)
            if value._view is not None and (outside._requires_grad or tangents):
                raise runtime_error(
                    "a function under a transform wrote into an argument that is a view, with "
                    "values that are differentiated by an outer transform: pass a clone of it",
                    code="RG608",
                )
            value._grad_fn, value._output_nr = outside._grad_fn, outside._output_nr
            value._requires_grad = outside._requires_grad
            if tangents or value._meta is not None:
                _put_tangents(value, tangents)

    # ------------------------------------------------------------------ results

    def settled_tree(self, tree: object) -> Any:
        """Results as they are outside of the transform."""
        return tree_map(self._settled_leaf, tree)

    def _settled_leaf(self, value: Tensor) -> Tensor:
        if not isinstance(value, Tensor):
            raise runtime_error(
                f"Expected tensors, got unsupported type {type(value)}", code="RG607"
            )
        return self.settled(value)

    def settled(self, value: Tensor, *, later: bool = False) -> Tensor:
        """A result as it is outside: without a history that ends in the trace's own leaves.

        `later` is for what is computed after the transform, in the grad mode of that time.
        """
        found = self._settled(value, later)
        if TRANSFORMS.dual_levels:
            for level, tangent in (tangents_of(found) or {}).items():
                kept = self.settled(tangent, later=later)
                if kept is not tangent:
                    holder_of(found).put(level, kept)
        return found

    def _settled(self, value: Tensor, later: bool) -> Tensor:
        if isinstance(value, BatchedTensor) and value._level > self.level:
            inner = self.settled(value._physical, later=later)
            if inner is value._physical:
                return value
            made = rewrap(inner, value._batch_dim, value._level)
            made._grad_fn, made._output_nr = value._grad_fn, value._output_nr
            made._requires_grad, made._meta = value._requires_grad, value._meta
            return made
        if not self.records and not later:
            return self._cut(value)
        if not value.requires_grad:
            return value
        node = value._grad_fn
        if node is None:
            owner = value.__dict__.get(TRACE)
            ended = owner is self or (owner is not None and not owner.running)
            return bare(value) if ended else value
        return value if self.leads_outside([node])[0] else bare(value)

    def _cut(self, value: Tensor) -> Tensor:
        """A result without what was recorded in the trace, for itself and for its tangents."""
        moved = tangents_of(value) if TRANSFORMS.dual_levels else None
        moved = moved or Tangents()
        if not any([self._is_inner(x) for x in (value, *moved.values())]):
            return value
        made = _cut_off(value)
        for level, tangent in moved.items():
            holder_of(made).put(level, self._cut(tangent))
        return made

    def _is_inner(self, value: Tensor) -> bool:
        """Whether a tensor, or what it is a batch of, has a history that began in the trace."""
        node = value._grad_fn
        if node is None and value._requires_grad:
            return value.__dict__.get(TRACE) is self
        if node is not None and node.sequence > self.start:
            return True
        return isinstance(value, BatchedTensor) and self._is_inner(value._physical)

    def leads_outside(self, roots: list[Node], *, saved: bool = False) -> tuple[bool, bool]:
        """Whether a graph goes on outside of the trace, and whether user code is part of it.

        Only nodes made since the start of a trace are looked at: what is older belongs outside.
        `saved` looks at the saved values too, which may be batches of tensors from outside, or
        carry tangents that depend on some.
        """
        start = min([self.start, *self.starts.values()])
        seen = set(roots)
        stack = list(roots)
        foreign = False
        while stack:
            node = stack.pop()
            if is_accumulator(node):
                owner = node.saved[0].__dict__.get(TRACE)
                if owner is None or (owner is not self and owner.running):
                    return True, foreign
                continue
            if node.sequence < start:
                return True, foreign
            if node.extra is not None or (node.__class__ is not Node and node.op is None):
                foreign = True  # a plain Node is that of an op which nobody looked at
            if saved:
                behind = self._behind(node.saved)
                if behind is None:
                    return True, foreign
                for other in behind:
                    if other not in seen:
                        seen.add(other)
                        stack.append(other)
            for target in node.edges:
                if target is not None and target not in seen:
                    seen.add(target)
                    stack.append(target)
        return False, foreign

    def _behind(self, values: tuple[object, ...]) -> list[Node] | None:
        """The histories of the tangents of saved values; None where something is from outside."""
        found: list[Node] = []
        for value in values:
            if type(value) is SavedTensor:
                if value.unpack_hook is not None:
                    return None
                value = value.data
            if isinstance(value, Tensor):
                if value._level != self.level:
                    if is_recorded(value):
                        return None
                    continue
                if isinstance(value, BatchedTensor) and is_recorded(value._physical):
                    return None
                held = tangents_of(value) if TRANSFORMS.dual_levels else None
                for tangent in held.values() if held else ():
                    if tangent._requires_grad:
                        edge = edge_of(tangent)
                        if edge is not None:
                            found.append(edge)
                    further = self._behind((tangent,))
                    if further is None:
                        return None
                    found += further
        return found


def edge_to(alias: Tensor) -> Edge:
    """Where the gradient of an alias arrives."""
    node = alias._grad_fn
    return (accumulator(alias), 0) if node is None else (node, alias._output_nr)


def bare(value: Tensor) -> Tensor:
    """The same elements, version counter and tangents, without history."""
    inference = value.is_inference()
    if not inference:
        cell_of(value)  # to be shared
    made = value._without_history()
    if inference:
        made._cell = VersionCell()  # a normal tensor: transforms run outside of inference mode
    _copy_tangents(value, made)
    return made


def _copy_tangents(value: Tensor, made: Tensor) -> None:
    _put_tangents(made, (tangents_of(value) if TRANSFORMS.dual_levels else None) or {})


def _put_tangents(made: Tensor, tangents: dict[DualLevel, Tensor]) -> None:
    if made._meta is not None:
        made._meta.tangents = None
    for level, tangent in tangents.items():
        holder_of(made).put(level, tangent)


def _cut_off(value: Tensor) -> Tensor:
    """The same elements and tangents, without history at any level of vmap."""
    if not isinstance(value, BatchedTensor):
        return bare(value)
    made = rewrap(_cut_off(value._physical), value._batch_dim, value._level)
    _copy_tangents(value, made)
    return made


class tracing(Block):
    """Run a transform of `func`: inference mode off, and in reverse mode grad mode on.

    `links` connects the aliases to what is outside even where grad mode is off now.
    """

    def __init__(
        self, func: Callable[..., object], *, reverse: bool = True, links: bool = False
    ) -> None:
        if reverse and STATE.saved_hooks:
            raise runtime_error(_SAVED_HOOKS, code="RG609")
        self.trace = self._entered = Trace(func, links=links)
        self.reverse = reverse

    def _inside(self) -> dict[str, object]:
        state = STATE
        # those that stay as they are too: what the function itself leaves behind ends here
        inside: dict[str, object] = {
            "transforms": state.transforms + 1,
            "inference": False,
            "grad_enabled": state.grad_enabled,
            "cut": state.cut,
            "saved_hooks_refused": state.saved_hooks_refused,
        }
        if self.reverse:
            inside["saved_hooks_refused"] = _SAVED_HOOKS
            if not state.grad_enabled:
                inside["grad_enabled"], inside["cut"] = True, None
        return inside

    def _left(self, failed: bool) -> None:
        trace = self.trace
        trace.running = False
        trace.captured = []
        trace.lent = []
