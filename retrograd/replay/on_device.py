"""Steps on a CUDA device: read as others are, then captured into a CUDA graph.

Guards are those of `reading`. A call whose guards hold as they did for the call before is captured,
with tensors of its own in place of the arguments; later calls copy theirs there, launch the graph,
and give out copies of the results. What changes outside of the device's memory at each call (a list
that grows, a number that is read, a state that is rebound) is refused, and the step just runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from retrograd.engine.views import bump
from retrograd.replay.binding import MISS
from retrograd.replay.cuda_graphs import CUDAGraph, graph
from retrograd.replay.reading import Reading, Readings
from retrograd.replay.reading.guards import Test
from retrograd.replay.reading.protocol import Plainly
from retrograd.tensor import Tensor
from retrograd.transforms.trees import flatten, unflatten

if TYPE_CHECKING:
    from retrograd.replay import Replay

_PATIENCE = 6
_PLANS = 8


class NotCaptured(Exception):
    """A step cannot be captured; the reason."""


class Captured:
    """One graph of a step, and what it reads and writes."""

    def __init__(self, step: Callable[..., Any], args: Any, kwargs: Any, reading: Reading) -> None:
        self.check = reading.guards.check
        given, self.spec = flatten((list(args), dict(kwargs)))
        self.inputs = [_own(x) if isinstance(x, Tensor) else x for x in given]
        known = [x for x in reading.guards.registers if isinstance(x, Tensor)]
        versions = [tensor._version for tensor in known]
        watched = [r for r in reading.guards.records if r.test is Test.GRAD]
        holders = [reading.guards.registers[record.register] for record in watched]
        before = [holder.grad for holder in holders if isinstance(holder, Tensor)]
        self.graph = CUDAGraph()
        own_args, own_kwargs = unflatten(list(self.inputs), self.spec)
        with graph(self.graph):
            result = step(*own_args, **own_kwargs)
        self.results, self.result_spec = flatten(result)
        for found in self.results:
            if found is None:
                continue
            if not isinstance(found, Tensor):
                raise NotCaptured("it returns a value that is no tensor")
            if found.requires_grad or any(found is tensor for tensor in known):
                raise NotCaptured("it returns a tensor that has a history, or one from outside")
        self.changed = [t for t, v in zip(known, versions, strict=True) if t._version != v]
        after = [holder.grad for holder in holders if isinstance(holder, Tensor)]
        tensors = [holder for holder in holders if isinstance(holder, Tensor)]
        rows = list(zip(tensors, before, after, strict=True))
        # gradients that the step adds to have to be there again, those that it makes are given out
        self.added_to = [(t, one) for t, one, two in rows if one is two]
        self.made = [(t, two) for t, one, two in rows if one is not two]

    def run(self, args: Any, kwargs: Any) -> Any:
        """The step's result, or MISS where the graph does not serve the call."""
        if self.check(args, kwargs) is None:
            return MISS
        if any(tensor.grad is not gradient for tensor, gradient in self.added_to):
            return MISS
        given, spec = flatten((list(args), dict(kwargs)))
        if spec != self.spec:
            return MISS
        for own, value in zip(self.inputs, given, strict=True):
            if isinstance(own, Tensor):
                own.detach().copy_(value)
        return self.launch()

    def launch(self) -> Any:
        """Do the work once, for what is in the graph's tensors now."""
        self.graph.replay()
        for tensor, gradient in self.made:
            tensor.grad = gradient
        for tensor in self.changed:
            bump(tensor, "replay")
        copies = [x.detach().clone() if isinstance(x, Tensor) else x for x in self.results]
        return unflatten(copies, self.result_spec)


def _own(tensor: Tensor) -> Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


class OnDevice:
    """How a step on a device is called, in place of a recording on the CPU."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.readings = Readings()
        self.latest: Reading | None = None
        self.plans: list[Captured] = []
        self.failures = 0

    def __call__(self, args: Any, kwargs: Any) -> Any:
        replay = self.replay
        for plan in self.plans:
            found = plan.run(args, kwargs)
            if found is not MISS:
                replay.replayed += 1
                return found
        if self.failures >= _PATIENCE or len(self.plans) >= _PLANS:
            replay.ordinary += 1
            return replay.step(*args, **kwargs)
        replay.recorded += 1
        latest, self.latest = self.latest, None
        if latest is not None and latest.guards.check(args, kwargs) is not None:
            try:
                plan = Captured(replay.step, args, kwargs, latest)
            except Exception as error:
                text = str(error).splitlines()[0]
                self._refuse(f"the step cannot be captured: {type(error).__name__}: {text}")
                return replay.step(*args, **kwargs)
            self.plans.append(plan)
            return plan.launch()
        reading = self.readings(replay.step, args, kwargs, Plainly())
        reason = self._why_not(reading)
        if reason is None:
            self.latest = reading
        else:
            self._refuse(reason)
        return reading.result

    def _why_not(self, reading: Reading) -> str | None:
        if reading.refusal is not None:
            return str(reading.refusal)
        if reading.effects:
            return "the step changes objects at each call, which a CUDA graph does not"
        if reading.free:
            return "the step rebinds a tensor at each call, which a CUDA graph cannot follow"
        return None

    def _refuse(self, reason: str) -> None:
        self.failures += 3
        reasons = self.replay.reasons
        reasons[reason] = reasons.get(reason, 0) + 1
