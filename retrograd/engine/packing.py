"""Saved values as objects: for saved-tensor hooks, custom Functions and `_raw_saved_*`.

Most nodes keep what they save in a flat tuple (`engine.saved`). A node gets `SavedTensor` objects
there instead when hooks were active as it was made, when a saved output is batched or carries a
tangent, or when somebody asks for `_raw_saved_*`. Its class is then the packed form of its op's,
which unpacks everything before the rule runs.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from retrograd.above import above
from retrograd.backend.arrays import Array
from retrograd.engine.hooked import run_late_hooks
from retrograd.engine.node import FREED, BackwardCall, Node, dressed
from retrograd.engine.saved import freed_failure, output_producer, stale_value, with_history
from retrograd.engine.state import IN_HOOK, STATE, Hooks, set_grad_mode, set_saved_hooks
from retrograd.engine.views import edge_of
from retrograd.notices import explained, runtime_error
from retrograd.tensor import Tensor, cell_of, meta_of, wrap

if TYPE_CHECKING:
    from retrograd.engine.node import Gradient, Need
    from retrograd.ops.registry import Op
    from retrograd.transforms.forward import DualLevel


@above
def tangents_of(held: dict[Any, Tensor]) -> dict[Any, Tensor]:
    """The tangents of a tensor for what is saved of it, which forgets them with their levels."""
    raise NotImplementedError


class SavedTensor:
    """One saved value: the tensor itself, or what a pack hook made of it.

    An input is kept as it is, so its identity survives. An output is kept without its node, which
    would keep itself alive; `unpack` gives it back with the node as its history.
    """

    __slots__ = (
        "_accumulator",
        "_grad_fn",
        "_hooks",
        "_node",
        "_packed",
        "_released",
        "_requires_grad",
        "_tangents",
        "_value",
        "_version",
        "is_output",
        "name",
        "number",
    )

    def __init__(
        self,
        value: Tensor | None = None,
        node: Node | None = None,
        is_output: bool = False,
        number: int = 0,
    ) -> None:
        if node is None:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        self.is_output = is_output and value is not None and value._grad_fn is not None
        self.number = number  # of the output, among those of its node
        self.name = "result" if is_output else "input"  # for reports
        self._hooks: Hooks | None = None
        self._packed: Any = None
        self._released = False
        self._node = weakref.ref(node)
        self._grad_fn: Node | None = None
        self._accumulator: weakref.ref[Node] | None = None
        self._requires_grad = False
        self._tangents: dict[DualLevel, Tensor] | None = None
        self._value = value
        self._version = 0
        if value is None:
            return
        if self.is_output:
            cell_of(value)
            self._value = value._without_history()
        self._version = 0 if value._cell is None else value._cell.version
        hooks = STATE.saved_hooks
        if hooks:
            self._pack(node, value, value, hooks[-1])

    def _pack(self, node: Node | None, value: Tensor, given: Tensor, hooks: Hooks) -> None:
        """Hand the value over to a pack hook, as `given`; what unpacking needs stays here."""
        cell = value._cell
        before = 0 if cell is None else cell.version
        state = STATE
        if node is not None:
            state.pack_site = (node.code, node.lasti)
        if state.cut is IN_HOOK and not state.grad_enabled:
            packed = hooks[0](given)
        else:
            packed = _call_quietly(hooks[0], given)
        cell = value._cell
        if cell is not None and cell.version != before:
            raise runtime_error(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook cannot be modified by in-place operations as this can lead "
                "to unexpected side-effects. Please open an issue if you need to perform "
                "in-place operations on the input to a pack hook.",
                code="RG617",
            )
        self._hooks, self._packed = hooks, packed
        self._requires_grad = value._requires_grad
        if value._meta is not None and value._meta.tangents:
            self._tangents = tangents_of(value._meta.tangents)
        self._keep_history(value)
        self._value = None

    def _keep_history(self, value: Tensor) -> None:
        """Note what the value's history is, which goes with the tensor."""
        if not self.is_output:
            self._grad_fn = value._grad_fn
            self.number = value._output_nr
            if value._grad_fn is None and value._requires_grad:
                edge = edge_of(value)
                self._accumulator = None if edge is None else weakref.ref(edge)

    def unpack(self, node: Node | None = None, *, raw: bool = False) -> Tensor | None:
        """The saved tensor with its history; `node` is the node that saved it.

        `raw` is for those who want its elements only.
        """
        if node is None:
            node = self._node()
        if self._released:
            raise freed_failure(node)
        if self._hooks is not None:
            return self._unpack_hooked(node, raw)
        value = self._value
        if value is None or node is None:
            return value
        producer = output_producer(node, self.number) if self.is_output else None
        stale_value(node, self.name, value, value._cell, self._version, producer)
        if not self.is_output:
            return value
        return with_history(node, value._without_history(), self.number)

    def _unpack_hooked(self, node: Node | None, raw: bool) -> Tensor:
        assert self._hooks is not None
        if self._hooks[0] is by_engine:  # which is told who asks
            found = self._hooks[1](self._packed, node)
            if found._grad_fn is not None:
                return found  # the very tensor: somebody has it still
        else:
            found = self._hooks[1](self._packed)
        if not isinstance(found, Tensor):
            raise explained(
                TypeError(
                    "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                    f"type {type(found).__name__}"
                ),
                code="RG617",
            )
        if raw or not (self._requires_grad or found.requires_grad or self._tangents):
            return found
        made = found._without_history()
        made._cell = None
        if self._tangents:
            meta_of(made).tangents = tangents_of(self._tangents)
        if self.is_output:
            return made if node is None else with_history(node, made, self.number)
        if self._grad_fn is not None:
            made._grad_fn = self._grad_fn
            made._output_nr = self.number
            made._requires_grad = True
        elif self._requires_grad:
            made._requires_grad = True
            meta_of(made).accumulator = self._accumulator
        return made

    def replace(self, packed: object, unpack: Callable[..., Tensor]) -> None:
        """Hold something else in place of the value: ``unpack(packed, node)`` gives it back."""
        value = self._value
        if value is not None and self._hooks is None:
            self._keep_history(value)
            self._requires_grad = self.is_output or value._requires_grad
            self._packed, self._hooks, self._value = packed, (by_engine, unpack), None

    def release(self) -> None:
        """Let go of the value: a backward call is done with it."""
        if self._value is not None or self._hooks is not None:
            self._released = True
        self._value = self._packed = self._hooks = self._grad_fn = self._tangents = None

    # ------------------------------------------------------------------ PyTorch's interface

    @property
    def data(self) -> Any:
        """What is stored: the packed object if hooks are registered, else the tensor."""
        if self._hooks is None:
            return self._value
        return self._packed if self._hooks[0] is not by_engine else self.unpack(raw=True)

    @property
    def unpack_hook(self) -> Callable[[Any], Tensor] | None:
        """The function that turns the packed object back into a tensor, or None."""
        return None if self._hooks is None or self._hooks[0] is by_engine else self._hooks[1]

    def register_hooks(self, pack_hook: object = None, unpack_hook: object = None) -> None:
        """Pack this one value now with `pack_hook`, and unpack it with `unpack_hook` later.

        >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
        >>> y = x.exp()
        >>> y.grad_fn._raw_saved_result.register_hooks(lambda t: t.numpy(), torch.from_numpy)
        >>> y.sum().backward()
        >>> x.grad
        tensor([1.0000, 2.7183])
        """
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types "
                "are supported:\n    1. (self: SavedTensor, pack_hook: function, unpack_hook: "
                "function) -> None"
            )
        if self._hooks is not None and self._hooks[0] is by_engine:
            self._value, self._hooks, self._packed = self.unpack(), None, None
        if self._hooks is not None:
            raise runtime_error(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time.",
                code="RG617",
            )
        if self._released:
            raise runtime_error(
                "Calling register_hooks on a saved tensor after it has been freed. Saved "
                "intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through "
                "the graph a second time or if you need to access saved variables after "
                "calling backward.",
                code="RG617",
            )
        value = self._value
        if value is None:
            raise runtime_error(
                "Calling register_hooks on a saved tensor with value None is forbidden",
                code="RG617",
            )
        # what is given has no history: a packed object that kept it would keep the graph alive
        self._pack(self._node(), value, value.detach(), (pack_hook, unpack_hook))
        if self.is_output:
            self._requires_grad = True


def by_engine(value: Tensor) -> object:
    """In the place of a pack hook: the engine has put something else there, see `replace`."""
    raise NotImplementedError


def _call_quietly(function: Callable[[Tensor], object], value: Tensor) -> object:
    """Call a hook with grad mode off, as hooks are."""
    state = STATE
    before, cut = state.grad_enabled, state.cut
    try:
        set_grad_mode(False, IN_HOOK)
        return function(value)
    finally:
        set_grad_mode(before, cut)


# ------------------------------------------------------------------------------- packed nodes


def packed_form(form: type[Node]) -> type[Node]:
    """The class of an op's nodes whose saved values are `SavedTensor` objects."""
    found: type[Node] | None = form.__dict__.get("packed")
    if found is not None:
        return found

    def run_raw(
        self: Node, gradient: Gradient, need: Need, freeing: BackwardCall | None
    ) -> Sequence[Array | None]:
        dressed(self)
        unhooked = self.extra is None
        state = STATE
        before, cut = state.grad_enabled, state.cut
        try:
            set_grad_mode(False, IN_HOOK)
            live = _unpacked(self, form, raw=True)
        finally:
            set_grad_mode(before, cut)
        results = form.run_raw(live, gradient, need, None)
        if unhooked and self.extra is not None:
            results = run_late_hooks(self, results, raw=True)
        if freeing is not None:
            self.release(freeing)
        return results

    def run_recorded(
        self: Node, gradient: Gradient, need: Need, freeing: BackwardCall | None
    ) -> Sequence[Tensor | None]:
        unhooked = self.extra is None
        results = form.run_recorded(_unpacked(self, form, raw=False), gradient, need, None)
        if unhooked and self.extra is not None:
            results = run_late_hooks(self, results, raw=False)
        if freeing is not None:
            self.release(freeing)
        return results

    def release(self: Node, call: BackwardCall) -> None:
        if self.freed is None:  # first, in case that something interrupts the rest
            self.freed = call
        for value in self.saved:
            if type(value) is SavedTensor:
                value.release()
        form.release(self, call)

    space = {
        "__slots__": (),
        "__module__": form.__module__,
        "run_raw": run_raw,
        "run_recorded": run_recorded,
        "release": release,
    }
    made: type[Node] = type(form.__name__, (form,), space)
    run_raw.form = made  # type: ignore[attr-defined]
    form.packed = made.packed = made  # type: ignore[attr-defined]
    return made


def _unpacked(node: Node, form: type[Node], *, raw: bool) -> Node:
    """A stand-in for a packed node with live values in the flat layout, for one run of its rule."""
    assert form.op is not None
    saved = list(node.saved)
    for kind, _, _, place, *_ in form.op.plan.kept:
        value = saved[place]
        if type(value) is not SavedTensor:
            continue
        tensor = value.unpack(node, raw=raw)
        saved[place] = tensor
        if tensor is None:
            continue
        cell = tensor._cell
        if kind == "output":
            cell = saved[place + 1] = cell_of(tensor)
            saved[place + 2] = cell.version
            saved[place] = tensor._array if raw else tensor
        else:
            saved[place + 1] = 0 if cell is None else cell.version
    shadow = Node.__new__(form)
    shadow.run, shadow.code, shadow.lasti = node.run, node.code, node.lasti
    shadow.edges, shadow.edge_numbers = node.edges, node.edge_numbers
    shadow.shape, shadow.dtype, shadow.freed = node.shape, node.dtype, node.freed
    shadow.visit = 0
    shadow.extra = None
    shadow.sequence = 1 << 62  # every value was checked as it was unpacked
    shadow.saved = tuple(saved)
    return shadow


def pack_new(op: Op, node: Node, output: Tensor) -> None:
    """Hand over to the hooks what the new node of an op with one output has saved.

    The values are in the flat layout, in which generated functions leave them.
    """
    run = node.run
    form = op.node_class if run.form is None else run.form
    saved = list(node.saved)
    state = STATE
    before, cut = state.grad_enabled, state.cut
    try:
        set_grad_mode(False, IN_HOOK)  # once for all hooks
        for kind, name, number, place, *_ in op.plan.kept:
            value = saved[place]
            if kind == "output":
                saved[place] = SavedTensor(output, node, True, number)
            elif isinstance(value, Tensor):
                saved[place] = made = SavedTensor(value, node)
                made.name = name
    finally:
        set_grad_mode(before, cut)
    node.saved = tuple(saved)
    node.run = packed_form(form).run_raw


def pack_node(node: Node) -> None:
    """Turn the flat saved values of an op's node into objects, if they are not yet."""
    form = type(dressed(node))
    assert node.op is not None
    if form.__dict__.get("packed") is form:
        return
    saved = list(node.saved)
    outer = STATE.saved_hooks
    try:
        set_saved_hooks(())  # those of now were not there when the value was saved
        for kind, name, number, place, *_ in node.op.plan.kept:
            value = saved[place]
            if kind == "output" and value is not FREED:
                stored = wrap(value)
                stored._cell = saved[place + 1]
                saved[place] = _stored_output(stored, node, saved[place + 2], number)
            elif kind == "input" and isinstance(value, Tensor):
                made = SavedTensor(value, node, is_output=False, number=0)
                made._version = saved[place + 1]
                made.name = name
                saved[place] = made
    finally:
        set_saved_hooks(outer)
    made_form = packed_form(form)
    node.run = made_form.run_raw  # which runs with flat values too: another thread may walk here
    node.__class__ = made_form
    node.saved = tuple(saved)


def _stored_output(value: Tensor, node: Node, version: int, number: int) -> SavedTensor:
    made = SavedTensor(None, node, is_output=True, number=number)
    made._value = value
    made._version = version
    made.is_output = True
    return made


def must_pack(op: Op, outputs: list[Tensor], dual: bool) -> bool:
    """Whether a node being made now needs saved values as objects; `dual`: outputs get tangents."""
    if STATE.saved_hooks:
        return bool(op.plan.kept)
    for kind, _, number, *_ in op.plan.kept:
        if kind == "output" and (dual or outputs[number]._level):
            return True
    return False


def is_packed(node: Node) -> bool:
    """Whether a node has its saved values as objects."""
    form = node.run.form
    return form is not None and form.__dict__.get("packed") is form
