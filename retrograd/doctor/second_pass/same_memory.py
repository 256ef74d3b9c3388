"""Second pass, question "same": operations on a parameter and on what should be a copy of it.

`p.detach()`, `p.data`, `state_dict()` and a second name for a model share the memory of the
parameters. A difference of both is always zero, and a copy from one to the other changes nothing:
here each such operation is written down, with its line.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from retrograd.doctor.evidence.overwritten import memory_of
from retrograd.doctor.session import Watched
from retrograd.watching.gradients import parameters_of

COMPARING = frozenset(
    "sub rsub mse_loss l1_loss smooth_l1_loss huber_loss dist equal allclose isclose eq ne".split()
)
WRITING = frozenset("copy_ lerp_ add_".split())
ENOUGH = 3  # of one line, in different iterations
MOST_CALLS = 400  # backward calls of other programs are like these


class SameMemoryWatch:
    """Compares the addresses of both operands."""

    def __init__(self, watched: Watched, decided: Callable[[dict[str, object]], None]) -> None:
        self.watched = watched
        self.torch = watched.engine.torch
        self.decided = decided
        self.seen: dict[str, dict[str, Any]] = {}  # by line
        self._memory: tuple[int, frozenset[int]] = (0, frozenset())
        self._mode = self._make_mode()

    def __enter__(self) -> SameMemoryWatch:
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._mode.__exit__(*exception)

    def _make_mode(self) -> Any:
        watch = self
        mode: Any = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode

        class Same(mode):  # type: ignore[misc]
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                name = func._schema.name.removeprefix("aten::")
                if (name in COMPARING or name in WRITING) and len(args) > 1:
                    watch.note(name, args[0], args[1])
                return func(*args, **(kwargs or {}))

        return Same()

    def note(self, name: str, one: Any, other: Any) -> None:
        """Write down an operation on the same numbers, after steps that have changed them."""
        kind, recorder = self.torch.Tensor, self.watched.recorder
        if not isinstance(one, kind) or not isinstance(other, kind) or one.shape != other.shape:
            return
        if not recorder.gradients.steps or not one.numel() or one.stride() != other.stride():
            return
        if memory_of(one) not in self._parameters() or one.data_ptr() != other.data_ptr():
            return
        log = self.watched.tracer.log
        stack = [[place.file, place.line, place.function] for place in log.places_of(log.here())]
        if not stack:
            return
        found = self.seen.setdefault(str(stack[-1]), {"op": name, "stack": stack, "steps": []})
        steps = len(recorder.gradients.steps)
        if steps not in found["steps"]:
            found["steps"].append(steps)
        if len(found["steps"]) >= ENOUGH or len(recorder.calls) > MOST_CALLS:
            self.decided(self.found())

    def _parameters(self) -> frozenset[int]:
        """The memory of all that optimizers hold."""
        optimizers = self.watched.recorder.gradients.optimizers
        if self._memory[0] != len(optimizers):
            places = {memory_of(p) for each in optimizers for p in parameters_of(each)}
            self._memory = len(optimizers), frozenset(p for p in places if p is not None)
        return self._memory[1]

    def found(self) -> dict[str, object]:
        """The lines, with the number of moments between steps at which each was seen."""
        return {"same": [{**each, "steps": len(each["steps"])} for each in self.seen.values()]}
