"""Second pass, question "cut": where the descent from parameters to a loss ends.

A mark on each tensor (an attribute) says which parameters reach it with history, and at which
earlier operations history was lost. An operation with a marked, differentiable input and an output
that does not require grad is a cut. Marks flow on through tensors without history, so the loss
knows its cuts. Numbers, arrays and lists carry no marks: what left tensors is kept apart and asked
only if the loss has no history and no cut.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from retrograd.doctor.second_pass.number_trial import NumberTrial
from retrograd.doctor.second_pass.public_calls import PublicCalls
from retrograd.doctor.second_pass.wrapped import Wrapped
from retrograd.doctor.session import Watched
from retrograd.watching.gradients import parameters_of
from retrograd.watching.graph import leaves_above, tensors_in
from retrograd.watching.torch_types import OptimizerLike, TensorLike

UNUSED = "appears to not have been used in the graph"
MARK = "_retrograd_mark"
CHECKPOINT = "CheckpointFunction"  # what a reentrant checkpoint calls, in both libraries
MOST_LEAVES = 2048  # with a bit of their own when all are asked for
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


class CutWatch:
    """Marks tensors while a program runs; see the module's docstring."""

    def __init__(
        self,
        watched: Watched,
        parameters: Any,
        silent: bool,
        failing_call: int,
        decided: Callable[[dict[str, object]], None],
        trial: NumberTrial | None = None,
    ) -> None:
        self.watched = watched
        self.trial = trial
        self.values: list[float] = []  # of what was sent back
        self.torch = watched.engine.torch
        self.recorder = watched.recorder
        self.wanted: Any = (
            "all" if parameters == "all" else [(pair[0], pair[1]) for pair in parameters]
        )
        self.silent = silent
        self.failing_call = failing_call  # index of the call that failed in the first run, or -1
        self.decided = decided
        self.events: list[Event] = []
        self.escapes: list[int] = []
        self.frozen: list[int] = []  # events that switched a parameter's requires_grad off
        self.roots: list[tuple[Mark, bool]] = []  # sent back since the last step
        self.earlier: list[tuple[Mark, bool]] = []
        self.steps = 0
        self.paused = 0
        self.lost_marks = 0
        self._bits: dict[int, int] = {}
        self._leaves: list[TensorLike] = []
        self._numbered = -1
        self._undo: list[Callable[[], None]] = []
        self._mode = self._make_mode()
        self._wrapped = Wrapped(watched)

    # ---------------------------------------------------------------------- installing

    def __enter__(self) -> CutWatch:
        self._undo.append(self._wrapped.install())
        self._patch_parameter()
        self._patch_function()
        if self.torch.__package__ == "torch":
            self._patch_from_numpy()
            self._patch_variable()
        recorder = self.recorder
        original = recorder._around_backward

        def around(
            outputs: Sequence[TensorLike],
            retain: bool,
            create: bool,
            inputs: Sequence[TensorLike],
            accumulates: bool,
            run: Callable[[], object],
        ) -> Any:
            self.before_backward(outputs, accumulates)
            try:
                results = original(outputs, retain, create, inputs, accumulates, run)
            except RuntimeError as error:
                if UNUSED in str(error):
                    self.decided(self.behind_unused(outputs, inputs))
                raise
            if not accumulates and not create:
                self.after_grad(outputs, results)
            return results

        recorder._around_backward = around  # type: ignore[method-assign]
        module: Any = importlib.import_module(f"{self.torch.__package__}.optim.optimizer")

        def before_step(
            optimizer: OptimizerLike, args: Sequence[object], keywords: Mapping[str, object]
        ) -> None:
            self.at_step(optimizer)

        self._undo.append(module.register_optimizer_step_pre_hook(before_step).remove)
        self._mode.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._mode.__exit__(kind, error, trace)
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
        if self.trial is not None and len(self.escapes) > escaped:
            return self.trial.given(self.events[self.escapes[-1]].stack, result)
        return result

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

    def bit_of(self, leaf: TensorLike) -> int:
        """The bit of a leaf if it is one of the parameters in question."""
        if self.wanted == "all":
            return self._bit_of_any(leaf)
        if self._groups() != self._numbered:
            self._number_parameters()
        return self._bits.get(id(leaf), 0)

    def _groups(self) -> int:
        """How many groups of parameters all optimizers have: it rises with each new one."""
        return sum(len(each.param_groups) for each in self.recorder.gradients.optimizers)

    def _bit_of_any(self, leaf: TensorLike) -> int:
        if getattr(leaf, MARK, NOTHING).cuts:
            return 0  # a loss that was made a leaf by `requires_grad = True`
        known = self._bits.get(id(leaf))
        if known is None:
            if len(self._leaves) >= MOST_LEAVES:
                return 1
            self._leaves.append(leaf)  # kept alive, so that its id stays its own
            known = self._bits[id(leaf)] = 1 << len(self._leaves)
        return known

    def _number_parameters(self) -> None:
        optimizers = self.recorder.gradients.optimizers
        self._numbered = self._groups()
        self._bits = {}
        for bit, (optimizer, position) in enumerate(self.wanted):
            if optimizer < len(optimizers):
                parameters = parameters_of(optimizers[optimizer])
                if position < len(parameters):
                    self._bits[id(parameters[position])] = 1 << bit

    def set_mark(self, tensor: TensorLike, mark: Mark) -> None:
        """Put a mark on a tensor, where it takes one."""
        try:
            setattr(tensor, MARK, mark)
        except (AttributeError, RuntimeError):
            return

    def event(self, op: str, lost: int, escaped: bool = False) -> int:
        """Write down a loss of history here; the result is its index."""
        log = self.watched.tracer.log
        enabled = bool(self.torch.is_grad_enabled())
        scope = None if enabled else self._scope()
        if not enabled and scope is None and self.recorder.scopes:
            enabled = True  # the library switched gradients off for itself, as in `sample()`
        stack = [[place.file, place.line, place.function] for place in log.places_of(log.here())]
        self.events.append(Event(op, stack, enabled, scope, lost, escaped))
        return len(self.events) - 1

    def _scope(self) -> list[object] | None:
        """The innermost place where the program itself switched gradients off."""
        recorder = self.recorder
        for position, scope in reversed(list(enumerate(recorder.scopes))):
            wrapped = self._wrapped.lines.get(position)
            if wrapped is not None:
                return [scope.name, *wrapped]
            if scope.direct and scope.file:
                return [scope.name, scope.file, scope.line]
        found = None if recorder.scopes else recorder.last_scope.get("set_grad_enabled")
        return None if found is None else [found.name, found.file, found.line]

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
        self.pass_on(name, args, keywords, result)

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

    # ------------------------------------------------------------------------ decisions

    def before_backward(self, outputs: Sequence[TensorLike], accumulates: bool) -> None:
        """A loss is sent back: keep what it knows, or decide."""
        tensors = tensors_in(list(outputs), self.torch.Tensor)
        live, cuts, escape, has_history = 0, frozenset[int](), -1, False
        for tensor in tensors:
            mark = self.mark_of(tensor)
            cuts |= mark.cuts
            escape = max(escape, mark.escape)
            if tensor.grad_fn is not None:
                has_history = True
                for leaf in leaves_above([tensor.grad_fn]).values():
                    live |= self.bit_of(leaf)
        root = Mark(live, cuts, escape), has_history
        if accumulates:
            self.roots.append(root)
            self._note_value(tensors)
        if not has_history and not any(t.requires_grad for t in tensors):
            if self.failing_call in (-1, len(self.recorder.calls)):
                self.decided(self.answer([root]))  # this call is going to fail
        elif self.silent and self.wanted == "all" and not has_history and accumulates:
            self.decided(self.answer([root]))

    def _note_value(self, tensors: list[TensorLike]) -> None:
        """What is sent back, as a number; in a trial it may have changed."""
        if not self.silent or self.wanted == "all":
            return
        self.paused += 1
        try:
            self.values.append(sum(float(tensor.detach().sum()) for tensor in tensors))
        finally:
            self.paused -= 1
        if self.trial is not None and self.trial.differs(self.values):
            self.decided({"cuts": [], "differs": True})

    def behind_unused(
        self, outputs: Sequence[TensorLike], inputs: Sequence[TensorLike]
    ) -> dict[str, object]:
        """`autograd.grad` found no way from its outputs to an input: the cuts between them."""
        kind = self.torch.Tensor
        cuts: frozenset[int] = frozenset()
        reached = 0
        for tensor in tensors_in(list(outputs), kind):
            cuts |= self.mark_of(tensor).cuts
            for leaf in leaves_above([tensor.grad_fn] if tensor.grad_fn else []).values():
                reached |= self.bit_of(leaf)
        wanted = 0
        for tensor in tensors_in(list(inputs), kind):
            if tensor.is_leaf:
                wanted |= self.bit_of(tensor) & ~reached
        chosen = sorted((i for i in cuts if self.events[i].lost & wanted), key=self._rank)
        return {"cuts": [self._as_json(self.events[index]) for index in chosen]}

    def after_grad(
        self, outputs: Sequence[TensorLike], results: Sequence[TensorLike | None]
    ) -> None:
        """What `autograd.grad` gives without create_graph has no history."""
        live = 0
        for tensor in tensors_in(list(outputs), self.torch.Tensor):
            live |= self.mark_of(tensor).live
        if not live:
            return
        index = self.event("grad", live)
        for result in results:
            if result is not None and not result.requires_grad:
                self.set_mark(result, Mark(0, frozenset([index])))

    def at_step(self, optimizer: OptimizerLike) -> None:
        """At the second step of an optimizer in question enough has been seen."""
        optimizers = self.recorder.gradients.optimizers
        if self.wanted != "all" and optimizer in optimizers:
            index = optimizers.index(optimizer)
            parameters = parameters_of(optimizer)
            # those that it holds by now, and that are to be trained by now
            asked = [place for number, place in self.wanted if number == index]
            if any(p < len(parameters) and parameters[p].requires_grad for p in asked):
                self.steps += 1
                if self.steps >= 2 and (self.roots or self.earlier):
                    self.decided(self.found())
        self.earlier = (self.earlier + self.roots)[-64:]
        self.roots = []

    def found(self) -> dict[str, object]:
        """The answer by what was sent back last, or before that."""
        near = self.answer(self.roots)
        found = near if near["cuts"] else self.answer(self.earlier[::-1])
        return {**found, "numbers": self._numbers(), "values": self.values, "differs": False}

    def _numbers(self) -> list[dict[str, object]]:
        """The lines at which values of the parameters left tensors, as they came."""
        live = 0
        for mark, _ in self.roots + self.earlier:
            live |= mark.live
        found: dict[str, dict[str, object]] = {}
        for index in self.escapes:
            event = self.events[index]
            for inner in sorted(event.behind, reverse=True) or [index]:
                if self.events[inner].lost & ~live and event.stack:
                    cut = {**self._as_json(self.events[inner]), "escaped": True}
                    found.setdefault(str(event.stack[-1]), {"cut": cut, "at": event.stack[-1][:2]})
                    break
        return list(found.values())

    def answer(self, roots: list[tuple[Mark, bool]]) -> dict[str, object]:
        """The cuts behind roots, the likeliest first."""
        live, cuts, has_history = 0, frozenset[int](), False
        for mark, known in roots:
            live |= mark.live
            cuts |= mark.cuts
            has_history = has_history or known
        # what still reaches the loss by another way is not cut off
        lost = {index: self.events[index].lost & ~live for index in cuts}
        chosen = [index for index in cuts if lost[index]]
        if self.wanted == "all":
            held = self._bits_of_optimizers()
            chosen = [index for index in chosen if lost[index] & held] or chosen
        else:
            chosen = [index for index in chosen if self.events[index].op != ".grad"]
        chosen.sort(key=self._rank)
        if not chosen and not has_history and roots:
            if self.escapes:
                last = max(mark.escape for mark, _ in roots)
                last = last if last >= 0 else self.escapes[-1]
                chosen = sorted(self.events[last].behind, reverse=True) or [last]
            elif self.frozen:
                chosen = self.frozen[-1:]
        found = [self._as_json(self.events[index]) for index in chosen]
        if not chosen and has_history and self.wanted != "all":
            found = self._escaped({mark.escape for mark, _ in roots} - {-1}, live)
        return {"cuts": found}

    def _escaped(self, escapes: set[int], live: int) -> list[dict[str, object]]:
        """What left tensors before values came back into the loss; whether it is the same is open.

        A detach before numpy() is where it was cut.
        """
        found = []
        for escape in sorted(escapes, reverse=True):
            for index in sorted(self.events[escape].behind, reverse=True) or [escape]:
                if self.events[index].lost & ~live:
                    found.append({**self._as_json(self.events[index]), "escaped": True})
        return found

    def _rank(self, index: int) -> tuple[int, int]:
        """Losses nobody asked for first, then those on purpose, then indices; newest first."""
        event = self.events[index]
        if event.integral:
            return 2, -index
        on_purpose = event.op in ("detach", "detach_") or not event.grad_mode
        return int(on_purpose), -index

    def _bits_of_optimizers(self) -> int:
        bits = 0
        for optimizer in self.recorder.gradients.optimizers:
            for parameter in parameters_of(optimizer):
                bits |= self._bits.get(id(parameter), 0)
        return bits

    def _as_json(self, event: Event) -> dict[str, object]:
        lost: list[tuple[int, int]] = []
        if self.wanted != "all":
            lost = [pair for bit, pair in enumerate(self.wanted) if event.lost >> bit & 1]
        return {
            "op": event.op,
            "stack": event.stack,
            "grad_mode": event.grad_mode,
            "scope": event.scope,
            "escaped": event.escaped,
            "lost": lost,
        }
