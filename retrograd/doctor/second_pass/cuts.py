"""Second pass, question "cut": where the descent from parameters to a loss ends.

The marks are those of `watching.cut_marks`; here is what they are asked, and when. What left
tensors is asked only if the loss has no history and no cut.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from retrograd.doctor.second_pass.number_trial import NumberTrial
from retrograd.doctor.second_pass.wrapped import Wrapped
from retrograd.doctor.session import Watched
from retrograd.watching.cut_marks import MARK, NOTHING, CutMarks, Event, Mark
from retrograd.watching.gradients import parameters_of
from retrograd.watching.graph import leaves_above, tensors_in
from retrograd.watching.torch_types import OptimizerLike, TensorLike

UNUSED = "appears to not have been used in the graph"
MOST_LEAVES = 2048  # with a bit of their own when all are asked for


class CutWatch(CutMarks):
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
        super().__init__(watched.engine.torch)
        self.watched = watched
        self.trial = trial
        self.values: list[float] = []  # of what was sent back
        self.recorder = watched.recorder
        self.wanted: Any = (
            "all" if parameters == "all" else [(pair[0], pair[1]) for pair in parameters]
        )
        self.silent = silent
        self.failing_call = failing_call  # index of the call that failed in the first run, or -1
        self.decided = decided
        self.roots: list[tuple[Mark, bool]] = []  # sent back since the last step
        self.earlier: list[tuple[Mark, bool]] = []
        self.steps = 0
        self._bits: dict[int, int] = {}
        self._leaves: list[TensorLike] = []
        self._numbered = -1
        self._wrapped = Wrapped(watched)

    # ---------------------------------------------------------------------- installing

    def __enter__(self) -> CutWatch:
        self._undo.append(self._wrapped.install())
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
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def bit_of(self, leaf: TensorLike) -> int:
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

    def stack(self) -> list[list[object]]:
        log = self.watched.tracer.log
        return [[place.file, place.line, place.function] for place in log.places_of(log.here())]

    def switched_off(self) -> tuple[bool, list[object] | None]:
        enabled = bool(self.torch.is_grad_enabled())
        scope = None if enabled else self._scope()
        if not enabled and scope is None and self.recorder.scopes:
            enabled = True  # the library switched gradients off for itself, as in `sample()`
        return enabled, scope

    def escaped(self, result: object) -> object:
        if self.trial is None:
            return result
        return self.trial.given(self.events[self.escapes[-1]].stack, result)

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
        chosen = sorted((i for i in cuts if self.events[i].lost & wanted), key=self.rank)
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
        chosen.sort(key=self.rank)
        if not chosen and not has_history and roots:
            if self.escapes:
                last = max(mark.escape for mark, _ in roots)
                last = last if last >= 0 else self.escapes[-1]
                # what still had history when it left was cut by leaving
                behind = [] if self.events[last].lost else sorted(self.events[last].behind)
                chosen = behind[::-1] or [last]
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
