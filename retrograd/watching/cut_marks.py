"""Marks on tensors that follow the descent from parameters, to tell where it ends.

A mark (an attribute) says which parameters reach a tensor with history, and at which earlier
operations history was lost. An operation with a marked, differentiable input and an output that
does not require grad is a cut. Marks flow on through tensors without history, so the loss knows its
cuts. Numbers, arrays and lists carry no marks: what left tensors is kept apart.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retrograd.watching.graph import leaves_above, tensors_in
from retrograd.watching.public_calls import PublicCalls
from retrograd.watching.torch_types import TensorLike

MARK = "_retrograd_mark"
OWNER = "_retrograd_owner"  # on what `.data` has given: the tensor whose memory it is
CHECKPOINT = "CheckpointFunction"  # what a reentrant checkpoint calls, in both libraries
DEEPCOPY = "deepcopy"
MOST_CUTS = 16  # on one mark; the newest are kept

ESCAPES = frozenset("item numpy tolist __float__ __int__ __array__ __complex__ __index__".split())
MADE_OF_VALUES = frozenset("tensor as_tensor from_numpy asarray scalar_tensor full".split())
_SILENT = frozenset("backward requires_grad_ retain_grad register_hook __set__ grad".split())
_LOOKS = frozenset("grad_fn requires_grad is_leaf shape dtype device ndim _version".split())


@dataclass(frozen=True, slots=True)
class Mark:
    """Which parameters reach a tensor (bits), and the cuts behind it (indices of events)."""

    live: int = 0
    cuts: frozenset[int] = frozenset()
    escape: int = -1  # the last value that left tensors before it was made from Python values


@dataclass(slots=True)
class Event:
    """One loss of history."""

    op: str
    stack: list[list[object]]
    grad_mode: bool
    scope: list[object] | None
    lost: int  # bits of the parameters
    escaped: bool = False
    integral: bool = False  # its result cannot have a gradient: an index, a truth value
    behind: frozenset[int] = frozenset()  # cuts behind what escaped


NOTHING = Mark()


class CutMarks:
    """Marks tensors while a program runs; see the module's docstring.

    A subclass says which leaves are asked for (`bit_of`), and where the program is.
    """

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.events: list[Event] = []
        self.escapes: list[int] = []
        self.frozen: list[int] = []  # events that switched a parameter's requires_grad off
        self.paused = 0
        self.lost_marks = 0
        self._undo: list[Callable[[], None]] = []
        self._mode = self._make_mode()

    def bit_of(self, leaf: TensorLike) -> int:
        """The bit of a leaf if it is one of the parameters in question."""
        raise NotImplementedError

    def stack(self) -> list[list[object]]:
        """The lines that run now, outermost first: file, line, function."""
        raise NotImplementedError

    def switched_off(self) -> tuple[bool, list[object] | None]:
        """Whether gradients are on for the program, and what turned them off: name, file, line."""
        raise NotImplementedError

    def escaped(self, result: object) -> object:
        """A value has left tensors at the last event; what the program gets of it."""
        return result

    def start(self) -> None:
        """Follow everything that is called from now on."""
        self._patch_parameter()
        self._patch_function()
        if self.torch.__package__ == "torch":
            self._patch_from_numpy()
            self._patch_variable()
        self._mode.__enter__()

    def stop(self) -> None:
        """Follow nothing more."""
        self._mode.__exit__(None, None, None)
        while self._undo:
            self._undo.pop()()

    def _make_mode(self) -> Any:
        watch = self
        if self.torch.__package__ != "torch":
            return PublicCalls(self.told, self._note_frozen)
        mode: Any = importlib.import_module("torch.overrides").TorchFunctionMode

        class Marks(mode):  # type: ignore[misc]
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                result = func(*args, **(kwargs or {}))
                return watch.told(func, args, kwargs or {}, result)

        return Marks()

    def told(
        self, func: object, args: tuple[object, ...], keywords: dict[str, object], result: object
    ) -> object:
        """An operation has run; what the program is to get of it."""
        if self.paused:
            return result
        escaped = len(self.escapes)
        try:
            self.follow(func, args, keywords, result)
        except Exception:  # a mark is lost, but the program goes on
            self.lost_marks += 1
        return self.escaped(result) if len(self.escapes) > escaped else result

    def _note_frozen(self, tensor: TensorLike) -> None:
        if isinstance(tensor, self.torch.nn.Parameter):
            self.frozen.append(self.event("requires_grad=False", 0))

    def _patch_parameter(self) -> None:
        """`nn.Parameter(tensor)` does not pass through the mode."""
        kind, watch, tensor = self.torch.nn.Parameter, self, self.torch.Tensor
        original = kind.__new__

        def __new__(cls: Any, data: object = None, requires_grad: bool = True) -> Any:
            made = original(cls, data, requires_grad)
            if isinstance(data, tensor) and type(data) is not kind:
                before = watch.mark_of(data)
                if before.live and data.grad_fn is not None:
                    event = watch.event("nn.Parameter", before.live)
                    watch.set_mark(made, Mark(0, before.cuts | {event}))
            return made

        kind.__new__ = __new__
        self._undo.append(lambda: setattr(kind, "__new__", original))
        copied = kind.__deepcopy__

        def __deepcopy__(parameter: Any, memo: dict[int, object]) -> Any:
            known = id(parameter) in memo
            watch.paused += 1
            try:
                made = copied(parameter, memo)
            finally:
                watch.paused -= 1
            before = watch.mark_of(parameter)
            if before.live and not known:
                watch.set_mark(made, Mark(0, before.cuts | {watch.event(DEEPCOPY, before.live)}))
            return made

        kind.__deepcopy__ = __deepcopy__
        self._undo.append(lambda: setattr(kind, "__deepcopy__", copied))

    def _patch_variable(self) -> None:
        """The old `Variable(tensor)` neither; what it gives is a new leaf."""
        meta: Any = type(self.torch.autograd.Variable)
        watch, tensor = self, self.torch.Tensor
        original = meta.__dict__.get("__call__")

        def __call__(cls: Any, *args: Any, **keywords: Any) -> Any:
            made = type.__call__(cls, *args, **keywords)
            data = args[0] if args else keywords.get("data")
            if isinstance(data, tensor):
                before = watch.mark_of(data)
                cuts = before.cuts
                if before.live and made.is_leaf:
                    cuts = cuts | {watch.event("Variable", before.live)}
                if cuts:
                    watch.set_mark(made, Mark(0 if made.is_leaf else before.live, cuts))
            return made

        def undo() -> None:
            if original is None:
                del meta.__call__
            else:
                meta.__call__ = original

        meta.__call__ = __call__
        self._undo.append(undo)

    def _patch_from_numpy(self) -> None:
        """`torch.from_numpy` does not pass through the mode either."""
        torch, watch = self.torch, self
        original = torch.from_numpy

        def from_numpy(array: object) -> object:
            made = original(array)
            watch.pass_on("from_numpy", (array,), {}, made)
            return made

        torch.from_numpy = from_numpy
        self._undo.append(lambda: setattr(torch, "from_numpy", original))

    def _patch_function(self) -> None:
        """What a custom Function does inside is its own matter: only its results are marked."""
        kind, watch = self.torch.autograd.Function, self
        original = kind.__dict__["apply"]

        def apply(cls: Any, *args: Any, **keywords: Any) -> Any:
            if cls.__name__ == CHECKPOINT and not watch.paused:
                return watch.follow_checkpoint(original.__get__(None, cls), args, keywords)
            watch.paused += 1
            try:
                result = original.__get__(None, cls)(*args, **keywords)
            finally:
                watch.paused -= 1
            if not watch.paused:
                watch.pass_on(f"{cls.__name__}.apply", args, keywords, result)
            return result

        kind.apply = classmethod(apply)
        self._undo.append(lambda: setattr(kind, "apply", original))

    def follow_checkpoint(
        self, apply: Any, args: Sequence[object], keywords: Mapping[str, object]
    ) -> Any:
        """A reentrant checkpoint runs without gradients; parameters used in there hang on it.

        They get their gradients when it is sent back, and it is only if an argument requires grad.
        """
        first = len(self.events)
        result = apply(*args, **keywords)
        inside = 0
        for event in self.events[first:]:
            inside |= event.lost
        kind = self.torch.Tensor
        live, cuts = inside, frozenset[int]()
        for tensor in tensors_in([args, keywords], kind):
            mark = self.mark_of(tensor)
            live |= mark.live
            cuts |= mark.cuts
        lost = frozenset[int]()
        for tensor in tensors_in(result, kind):
            if tensor.requires_grad:
                self.set_mark(tensor, Mark(live, cuts))
            elif live:
                lost = lost or frozenset([self.event("checkpoint", live)])
                self.set_mark(tensor, Mark(0, cuts | lost))
        return result

    # --------------------------------------------------------------------------- marks

    def mark_of(self, tensor: TensorLike) -> Mark:
        """The mark of a tensor; a leaf has its own bit, other tensors without one are looked at."""
        if tensor.is_leaf and tensor.requires_grad:
            bit = self.bit_of(tensor)
            if bit:
                return Mark(bit, getattr(tensor, MARK, NOTHING).cuts)
        found: Mark | None = getattr(tensor, MARK, None)
        if found is not None:
            return found
        if tensor.grad_fn is None:
            return NOTHING
        live = 0
        for leaf in leaves_above([tensor.grad_fn]).values():
            live |= self.bit_of(leaf)
        found = Mark(live)
        self.set_mark(tensor, found)
        return found

    def set_mark(self, tensor: TensorLike, mark: Mark) -> None:
        """Put a mark on a tensor, where it takes one."""
        try:
            setattr(tensor, MARK, mark)
        except (AttributeError, RuntimeError):
            return

    def event(self, op: str, lost: int, escaped: bool = False) -> int:
        """Write down a loss of history here; the result is its index."""
        enabled, scope = self.switched_off()
        stack = self.stack()
        self.events.append(Event(op, stack, enabled, scope, lost, escaped))
        return len(self.events) - 1

    # ---------------------------------------------------------------------- operations

    def follow(
        self, func: object, args: Sequence[object], keywords: Mapping[str, object], result: object
    ) -> None:
        """One operation through the mode: hand the marks on."""
        name: str = getattr(func, "__name__", str(func))
        if name == "__set__" or name == "requires_grad_":
            self._switched(func, name, args, keywords)
        if name in _SILENT:
            return
        if name == "__get__":
            attribute = getattr(getattr(func, "__self__", None), "__name__", "get")
            if attribute in _LOOKS:
                return
            name = f".{attribute}"
        if name == "__setitem__":
            result = args[0]
        owner = getattr(args[0], OWNER, None) if args else None
        writes = name == "__setitem__" or (name.endswith("_") and not name.startswith("_"))
        self.pass_on(name, args, keywords, result)
        if name == ".data" and isinstance(result, self.torch.Tensor):
            setattr(result, OWNER, args[0])
        if owner is not None and writes:
            self._written_behind(name, owner, args, keywords)

    def _written_behind(
        self, name: str, owner: TensorLike, args: Sequence[object], keywords: Mapping[str, object]
    ) -> None:
        """`sums.data.add_(value)`: what is computed from `sums` depends on the value, unseen."""
        live = 0
        for tensor in tensors_in([args[1:], keywords], self.torch.Tensor):
            live |= self.mark_of(tensor).live
        if live and not (owner.is_leaf and owner.requires_grad):
            before = self.mark_of(owner)
            cuts = before.cuts | {self.event(f".data.{name}", live)}
            self.set_mark(owner, Mark(before.live, cuts, before.escape))

    def pass_on(
        self, name: str, args: Sequence[object], keywords: Mapping[str, object], result: object
    ) -> None:
        """The marks of the results from those of the arguments."""
        kind = self.torch.Tensor
        marks = [self.mark_of(tensor) for tensor in tensors_in([args, keywords], kind)]
        live, escape = 0, -1
        cuts: frozenset[int] = frozenset()
        for mark in marks:
            live |= mark.live
            cuts |= mark.cuts
            escape = max(escape, mark.escape)
        if name in MADE_OF_VALUES and self.escapes and not marks:
            escape = self.escapes[-1]
        if not live and not cuts and escape < 0:
            return
        results = tensors_in(result, kind)
        if not results:
            if name in ESCAPES and (live or cuts):
                index = self.event(name, live, escaped=True)
                self.events[index].behind = cuts
                self.escapes.append(index)
            return
        index = -1
        for tensor in results:
            if tensor.is_leaf and tensor.requires_grad:
                continue  # a parameter written in place stays what it is
            behind = cuts
            if live and not tensor.requires_grad:
                if index < 0:
                    index = self.event(name, live)
                    numbers = tensor.is_floating_point() or tensor.is_complex()
                    self.events[index].integral = not numbers
                behind = cuts | {index}
            if len(behind) > MOST_CUTS:
                behind = frozenset(sorted(behind)[-MOST_CUTS:])
            self.set_mark(tensor, Mark(live if tensor.requires_grad else 0, behind, escape))

    def _switched(
        self, func: object, name: str, args: Sequence[object], keywords: Mapping[str, object]
    ) -> None:
        """`parameter.requires_grad = False` by hand."""
        if name == "__set__":
            attribute = getattr(getattr(func, "__self__", None), "__name__", "")
            off = attribute == "requires_grad" and len(args) > 1 and args[1] is False
        else:
            off = keywords.get("requires_grad", args[1] if len(args) > 1 else True) is False
        if off and isinstance(args[0], self.torch.nn.Parameter):
            self.frozen.append(self.event("requires_grad=False", 0))

    def rank(self, index: int) -> tuple[int, int]:
        """Losses nobody asked for first, then those on purpose, then indices; newest first."""
        event = self.events[index]
        if event.integral:
            return 2, -index
        on_purpose = event.op in ("detach", "detach_") or not event.grad_mode
        return int(on_purpose), -index
