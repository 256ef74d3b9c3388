"""The life of gradients between backward, step and zero_grad: used twice, or cleared too soon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from retrograd.watching.lines import Step
from retrograd.watching.records import (
    Call,
    DirtyStep,
    EmptyStep,
    OptimizerStep,
    PiledStep,
    UsedGradients,
    WastedBackward,
    ZeroGrad,
)
from retrograd.watching.torch_types import OptimizerLike, TensorLike
from retrograd.watching.windowed import Windowed


def parameters_of(owner: Any) -> list[TensorLike]:
    """The parameters of an optimizer or of a module."""
    groups = getattr(owner, "param_groups", None)
    if groups is not None:
        return [parameter for group in groups for parameter in group["params"]]
    return list(owner.parameters())


USES = 12  # that are kept of each optimizer, and as many of several lines
MANUAL_CALLS = 40
MANUAL_ELEMENTS = 100_000


@dataclass
class Closures:
    """A step that runs, and the calls of its closure."""

    optimizer: OptimizerLike
    stack: list[Step]
    calls: list[Call] = field(default_factory=list)  # of backward, in it
    piled: bool = False  # one has added to what another one has given


class Gradients:
    """Follows the `.grad` of every parameter that an optimizer holds."""

    def __init__(self, torch: object) -> None:
        self._torch = torch
        self.optimizers: list[OptimizerLike] = []
        self.steps: Windowed[OptimizerStep] = Windowed()
        self.zeros: list[ZeroGrad] = []
        self.dirty: list[DirtyStep] = []
        self.empty: list[EmptyStep] = []
        self.wasted: list[WastedBackward] = []
        self.uses: list[UsedGradients] = []
        self._kept: Counter[tuple[int, bool]] = Counter()  # of them: optimizer id, several lines
        self.received: set[int] = set()  # ids of parameters that ever had a gradient
        self.evaluated: set[int] = set()  # of modules in evaluation mode, at the last look
        self.beside_frozen: set[int] = set()  # without a gradient, in a part with frozen ones
        self.piled: list[PiledStep] = []
        self._users: dict[int, tuple[OptimizerLike, list[Step]]] = {}  # id -> the last step of it
        self._used: dict[int, tuple[int, int]] = {}  # id -> (id, version) of the gradient at a step
        self._contaminated: dict[int, Call] = {}  # id -> the backward that added to a used one
        self._standing: dict[int, tuple[int, int]] = {}  # id -> (id, version) before the backward
        self._fresh: dict[int, Call] = {}  # id -> the backward whose gradient waits for a step
        self._given: dict[int, tuple[int, int]] = {}  # id -> (id, version) as backward left it
        self._dropped: dict[int, list[tuple[Call, ZeroGrad]]] = {}  # id -> since the last step
        self._last_used: dict[tuple[int, int], int] = {}  # site -> its last call that a step used
        self.manual: list[Call] = []  # that added to gradients a manual update had used
        self._manual: dict[int, tuple[tuple[int, int], float]] = {}  # id -> gradient, sum of values
        self._givers: dict[int, list[Call]] = {}  # id -> the backwards since it was empty
        self._tables: tuple[dict[int, Any], ...] = (
            *(self._used, self._contaminated, self._standing, self._fresh),
            *(self._given, self._givers),
        )
        self._stepping: list[tuple[int, ZeroGrad | None]] = []  # steps that run now
        self._closures: list[Closures] = []  # of these
        self._backwards = 0

    def who_received(self) -> list[list[bool]]:
        """For each optimizer, which of its parameters ever had a gradient."""
        return [[id(p) in self.received for p in parameters_of(o)] for o in self.optimizers]

    def follow(self, table: dict[int, Any]) -> None:
        """Let a table by parameter forget what belongs to a gradient that is cleared."""
        self._tables += (table,)

    def was_used(self, parameter: TensorLike) -> bool:
        """Whether a step has used its gradient, which is as it was then."""
        gradient = parameter.grad
        return gradient is not None and self._used.get(id(parameter)) == (
            *(id(gradient), gradient._version),
        )

    def held(self) -> list[TensorLike]:
        """The parameters of all optimizers."""
        return list(self._held())

    def sites_of(self, held: list[TensorLike]) -> int:
        """How many backward lines have added to these gradients since they were empty."""
        return len({call.site for p in held for call in self._givers.get(id(p), ())})

    def forget_with(self, calls: Windowed[Call]) -> None:
        """Forget what belongs to calls that are forgotten: what is counted stays comparable."""
        if not calls.dropped:
            return
        self.steps.forget(lambda step: calls.is_kept(step.calls))
        self.zeros = [zero for zero in self.zeros if calls.is_kept(zero.calls)]
        self.piled = [step for step in self.piled if calls.is_kept(step.call.index)]
        self.dirty = [step for step in self.dirty if calls.is_kept(step.call.index)]
        self.empty = [step for step in self.empty if calls.is_kept(step.cleared.calls)]
        self.wasted = [step for step in self.wasted if calls.is_kept(step.call.index)]
        self.manual = [call for call in self.manual if calls.is_kept(call.index)]
        for dropped in self._dropped.values():
            dropped[:] = [pair for pair in dropped if calls.is_kept(pair[0].index)]
        for givers in self._givers.values():
            givers[:] = [call for call in givers if calls.is_kept(call.index)]

    def before_backward(self) -> None:
        """The gradients as they are: what is another one afterwards was given by this call."""
        self._backwards += 1
        for parameter in self._held():
            key, gradient = id(parameter), parameter.grad
            used = self._used.get(key)
            if gradient is None:
                for table in self._tables:  # the next one may get the same id
                    table.pop(key, None)
                continue
            state = self._standing[key] = (id(gradient), gradient._version)
            if self._given.get(key) != state:
                self._givers.pop(key, None)  # written by hand
            if used is None or (used != state and used[0] == id(gradient)):
                self._contaminated.pop(key, None)  # written since: cleared or scaled by hand

    def before_manual_backward(self, call: Call, leaves: Iterable[TensorLike]) -> None:
        """In a program without optimizers: leaves that were changed while their gradient stayed."""
        if self.optimizers or call.index > MANUAL_CALLS:
            return
        for leaf in leaves:
            gradient = leaf.grad
            if gradient is None or leaf.numel() > MANUAL_ELEMENTS:
                self._manual.pop(id(leaf), None)
                continue
            value = self.value_of(leaf)
            state = (id(gradient), gradient._version)
            before = self._manual.get(id(leaf))
            if before is not None and before[0] == state and before[1] != value:
                self.manual.append(call)
            self._manual[id(leaf)] = (state, value)

    def value_of(self, leaf: TensorLike) -> float:
        """A number that changes with the leaf; `leaf.data -= x` leaves its version as it is."""
        untold = getattr(getattr(self._torch, "_C", None), "DisableTorchFunction", None)
        if untold is None:
            return float(leaf._version)
        with untold():  # a second pass must not take this for a use by the program
            return float(leaf.detach().double().sum())

    def after_manual_backward(self, leaves: Iterable[TensorLike]) -> None:
        """The gradients as this call has left them."""
        for leaf in leaves:
            before, gradient = self._manual.get(id(leaf)), leaf.grad
            if before is not None and gradient is not None:
                self._manual[id(leaf)] = ((id(gradient), gradient._version), before[1])

    def after_backward(self, call: Call) -> None:
        """Gradients are there now."""
        for running in self._closures:
            running.calls.append(call)
        for parameter in self._held():
            gradient = parameter.grad
            if gradient is not None:
                key, state = id(parameter), (id(gradient), gradient._version)
                standing = self._standing.pop(key, None)
                if state not in (standing, self._given.get(key)):  # else it did not reach it
                    if standing is not None and standing == self._used.get(key):
                        self._contaminated[key] = call  # added to what a step has used
                    if self._closures and standing is not None and standing == self._given.get(key):
                        self._note_piled(key, call)
                    self._fresh[key] = call
                    self._given[key] = state
                    self._givers.setdefault(key, []).append(call)
                self.received.add(key)

    def before_step(self, optimizer: OptimizerLike, stack: list[Step]) -> None:
        """What does this step use?"""
        held = parameters_of(optimizer)
        self._note_dirty(held, stack, optimizer)
        cleared = None
        if held and self._all_empty(held):
            keys = {id(parameter) for parameter in held}
            lost = [zero for zero in self.zeros[-6:] if zero.lost & keys]
            cleared = lost[-1] if lost else None
            if cleared is None and all(self._was_emptied(p) for p in held if id(p) in self._fresh):
                keys &= self._fresh.keys()
                cleared = ZeroGrad([], len(self.steps), 0, frozenset(keys)) if keys else None
        self._stepping.append((self._backwards, cleared))
        self._closures.append(Closures(optimizer, stack))
        self.received.update(id(p) for p in held if p.grad is not None)
        self._note_wasted(held, stack, optimizer)
        self._note_uses(held, stack, optimizer)

    def _note_piled(self, key: int, call: Call) -> None:
        """Has a call of the closure added to what the call of it before has given?"""
        running, givers = self._closures[-1], self._givers.get(key, [])
        level = len(running.stack)
        if running.piled or not givers or len(call.stack) <= level:
            return
        earlier = givers[-1]
        if any(earlier is each for each in running.calls) and len(earlier.stack) > level:
            if earlier.stack[level].activation != call.stack[level].activation:
                running.piled = True
                self.piled.append(PiledStep(running.stack, call, running.optimizer))

    def _note_uses(
        self, held: list[TensorLike], stack: list[Step], optimizer: OptimizerLike
    ) -> None:
        """Which backward calls have given what this step uses."""
        kind = id(optimizer)
        if min(self._kept[kind, False], self._kept[kind, True]) >= USES:
            return
        calls: dict[int, Call] = {}
        given: dict[int, set[int]] = {}
        for parameter in held:
            key, gradient = id(parameter), parameter.grad
            # still the tensor that backward has left: it may have been clipped
            if gradient is not None and self._given.get(key, (0, 0))[0] == id(gradient):
                for call in self._givers.get(key, []):
                    calls[call.index] = call
                    given.setdefault(call.index, set()).add(key)
        ordered = [calls[index] for index in sorted(calls)]
        several = len({call.site for call in ordered}) > 1
        if not ordered or self._kept[kind, several] >= USES:
            return
        self._kept[kind, several] += 1
        before = [zero for zero in self.zeros[-6:] if zero.calls <= ordered[0].index]
        cleared = before[-1] if before else None
        used = UsedGradients(stack, len(self.steps), ordered, given, cleared, optimizer)
        self.uses.append(used)

    def _note_dirty(
        self, held: list[TensorLike], stack: list[Step], optimizer: OptimizerLike
    ) -> None:
        dirty = [p for p in held if id(p) in self._contaminated and self._was_added_to(p)]
        if dirty:
            call = self._contaminated[id(dirty[0])]
            user, used = self._users.get(id(dirty[0]), (optimizer, []))
            self.dirty.append(DirtyStep(stack, call, optimizer, user, used))

    def _was_added_to(self, parameter: TensorLike) -> bool:
        """Whether a backward has reached a gradient since a step has used it."""
        gradient = parameter.grad
        return gradient is not None and self._used.get(id(parameter)) != (
            *(id(gradient), gradient._version),
        )

    def _was_emptied(self, parameter: TensorLike) -> bool:
        """Whether a gradient is another one than backward has left, with no step in between."""
        gradient = parameter.grad
        return gradient is None or self._given.get(id(parameter)) != (
            *(id(gradient), gradient._version),
        )

    def is_waiting(self, parameter: TensorLike) -> bool:
        """Whether a backward has given it a gradient that no step has used yet."""
        return parameter.grad is not None and id(parameter) in self._fresh

    def is_given_by(self, parameter: TensorLike, call: Call) -> bool:
        """Whether its gradient is as this backward has left it."""
        gradient, key = parameter.grad, id(parameter)
        if gradient is None or self._fresh.get(key) is not call:
            return False
        return self._given.get(key) == (id(gradient), gradient._version)

    def untouched(self) -> dict[int, int]:
        """The versions of gradients that are as backward has left them, by parameter."""
        return {
            id(p): p.grad._version
            for p in self._held()
            if p.grad is not None
            and self._given.get(id(p), (0, 0)) == (id(p.grad), p.grad._version)
        }

    def scaled(self, before: dict[int, int]) -> dict[int, tuple[int, int]]:
        """Those that were scaled since then: still the gradients of their backward, as they are."""
        found = {}
        for p in self._held():
            if p.grad is not None and before.get(id(p), p.grad._version) != p.grad._version:
                found[id(p)] = id(p.grad), p.grad._version
        self._given.update(found)
        return found

    def _note_wasted(
        self, held: list[TensorLike], stack: list[Step], optimizer: OptimizerLike
    ) -> None:
        """Gradients of the line whose gradients are used now were cleared since the last step."""
        for parameter in held:
            key, gradient = id(parameter), parameter.grad
            call, dropped = self._fresh.get(key), self._dropped.get(key, [])
            if call is None or gradient is None or not dropped:
                continue
            if self._given.get(key) != (id(gradient), gradient._version):
                continue  # written by hand: the dropped ones may have been collected elsewhere
            # what another optimizer has used in the meantime was not in vain
            used = self._last_used.get(call.site, -1)
            same = [
                zero
                for earlier, zero in dropped
                if earlier.site == call.site and earlier.index > used
            ]
            if same:
                wasted = WastedBackward(stack, call, same[-1], len(same), optimizer)
                self.wasted.append(wasted)
                return

    def _all_empty(self, held: list[TensorLike]) -> bool:
        if all(parameter.grad is None for parameter in held):
            return True
        if len(self.steps) >= 4:  # looking at every element is too slow to do it always
            return False
        given = [parameter.grad for parameter in held if parameter.grad is not None]
        return not any(gradient.is_meta or gradient.any() for gradient in given)

    def after_step(
        self, optimizer: OptimizerLike, stack: list[Step], number: int, calls: int
    ) -> None:
        """These gradients are used now."""
        backwards, cleared = self._stepping.pop() if self._stepping else (-1, None)
        del self._closures[-1:]
        # a closure may have given it its gradients
        if cleared is not None and backwards == self._backwards:
            self.empty.append(EmptyStep(stack, cleared, optimizer))
        held = parameters_of(optimizer)
        if backwards != self._backwards:  # by a closure, within the step
            self._note_dirty(held, stack, optimizer)
        for parameter in held:
            key = id(parameter)
            call = self._fresh.get(key)
            if call is not None:
                self._last_used[call.site] = call.index
            self._dropped.pop(key, None)
            if parameter.grad is not None:
                self._used[key] = (id(parameter.grad), parameter.grad._version)
                self._users[key] = optimizer, stack
            self._contaminated.pop(key, None)
            self._fresh.pop(key, None)
            self._givers.pop(key, None)
        keys = frozenset(id(parameter) for parameter in held)
        if self.steps and self.steps[-1].parameters == keys:
            keys = self.steps[-1].parameters  # one set for all steps of a long run
        self.steps.append(OptimizerStep(stack, number, optimizer, calls, keys))

    def before_zero(self, owner: Any, stack: list[Step], calls: int) -> None:
        """Gradients are cleared; some may not have been used by any step."""
        held = parameters_of(owner)
        lost = frozenset(id(p) for p in held if id(p) in self._fresh and p.grad is not None)
        zero = ZeroGrad(stack, len(self.steps), calls, lost, owner)
        self.zeros.append(zero)
        if not self._stepping:
            for key in lost:
                self._dropped.setdefault(key, []).append((self._fresh[key], zero))
        for parameter in held:
            for table in self._tables:
                table.pop(id(parameter), None)

    def _held(self) -> Iterable[TensorLike]:
        for optimizer in self.optimizers:
            yield from parameters_of(optimizer)
