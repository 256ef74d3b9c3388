"""Second pass, question "unseen": values that backward has saved and that changed without a trace.

A write through `.data`, or into an array that shares the memory, leaves the version of a tensor as
it is, so PyTorch's check passes and the gradients are computed with other values than the forward
pass had. Here every saved value is kept a second time and compared when backward takes it; the log
of writes has the line, or the array that was made last.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from retrograd.doctor.evidence.overwritten import memory_of
from retrograd.doctor.second_pass.writes import WriteWatch
from retrograd.doctor.session import Watched
from retrograd.watching.replacing import replaced

MOST_ELEMENTS = 1 << 20  # of a value that is kept a second time
MOST_CALLS = 120  # backward calls of other programs are like these
NUMPY = "numpy"  # the operation of a write into an array
ENOUGH = 3  # backward calls that met the same write

Stack = list[list[object]]


class Saved:
    """A saved value, as it was."""

    def __init__(self, value: Any, memory: int, writes: int, stack: Stack) -> None:
        self.value = value
        self.before = value.clone()
        self.version = value._version
        self.memory = memory
        self.writes = writes  # into that memory so far
        self.stack = stack  # the lines that saved it


class UnseenWriteWatch(WriteWatch):
    """The log of writes, and hooks around all that is saved."""

    def __init__(self, watched: Watched, decided: Callable[[dict[str, object]], None]) -> None:
        super().__init__(watched)
        self.decided = decided
        self.seen: dict[str, dict[str, Any]] = {}  # by the line of the write
        self.arrays: dict[int, Stack] = {}  # by memory: the line that last made an array of it
        self._undo: list[Callable[[], None]] = []
        graph: Any = importlib.import_module(f"{self.torch.__package__}.autograd.graph")
        self._hooks = graph.saved_tensors_hooks(self._pack, self._unpack)

    def __enter__(self) -> UnseenWriteWatch:
        super().__enter__()
        self._hooks.__enter__()
        self._follow_numpy()
        self._follow_data()
        return self

    def __exit__(self, *exception: object) -> None:
        while self._undo:
            self._undo.pop()()
        self._hooks.__exit__(*exception)
        super().__exit__(*exception)

    def _follow_numpy(self) -> None:
        """What is written into an array, no operation tells; only that there is one."""
        watch, original = self, self.torch.Tensor.numpy

        def numpy(tensor: Any, *args: Any, **keywords: Any) -> Any:
            memory = memory_of(tensor)
            if memory is not None:
                watch.arrays[memory] = watch._lines()
            return original(tensor, *args, **keywords)

        self._undo.append(replaced(self.torch.Tensor, "numpy", numpy))

    def _follow_data(self) -> None:
        """`weight.data = other` puts other memory into the tensor that is saved."""
        watch, original = self, self.torch.Tensor.data

        def put(tensor: Any, value: Any) -> None:
            watch._write_down(tensor, tensor._version, "data")
            original.__set__(tensor, value)

        self.torch.Tensor.data = property(original.__get__, put)
        self._undo.append(lambda: delattr(self.torch.Tensor, "data"))

    def _pack(self, tensor: Any) -> Any:
        memory = memory_of(tensor)
        if memory is None or tensor.numel() > MOST_ELEMENTS or not tensor.is_floating_point():
            return tensor
        return Saved(tensor, memory, len(self.log.get(memory, ())), self._lines())

    def _unpack(self, packed: Any) -> Any:
        if not isinstance(packed, Saved):
            return packed
        if packed.version == packed.value._version and not self._is_as_it_was(packed):
            self._note_changed(packed)
        return packed.value

    def _is_as_it_was(self, saved: Saved) -> bool:
        with self.torch.no_grad():
            now, before = saved.value, saved.before
            return bool(self.torch.allclose(now, before, rtol=1e-6, atol=0.0, equal_nan=True))

    def _note_changed(self, saved: Saved) -> None:
        """The first line that has written there since; what no line did is the library's matter."""
        since = [each for each in self.log.get(saved.memory, [])[saved.writes :] if each[2]]
        if since:
            _, operation, stack = since[0]
        elif saved.memory in self.arrays:
            operation, stack = NUMPY, self.arrays[saved.memory]
        else:
            return
        if not stack:
            return
        found = self.seen.setdefault(
            str(stack[-1]), {"op": operation, "stack": stack, "saved": saved.stack, "calls": []}
        )
        memory = saved.memory, memory_of(saved.value)
        found["parameter"] = bool(self._memory_of_parameters() & {*memory})
        calls = len(self.watched.recorder.calls)
        if calls not in found["calls"]:
            found["calls"].append(calls)

    def _memory_of_parameters(self) -> set[int | None]:
        optimizers = self.watched.recorder.gradients.optimizers
        groups = [group for each in optimizers for group in each.param_groups]
        return {memory_of(parameter) for group in groups for parameter in group["params"]}

    def _lines(self) -> Stack:
        log = self.watched.tracer.log
        return [[place.file, place.line, place.function] for place in log.places_of(log.here())]

    def _write_down(self, tensor: Any, version: int, operation: str) -> None:
        super()._write_down(tensor, version, operation)
        enough = any(len(found["calls"]) >= ENOUGH for found in self.seen.values())
        if enough or len(self.watched.recorder.calls) > MOST_CALLS:
            self.decided(self.found())

    def found(self) -> dict[str, object]:
        """The writes that backward calls met."""
        return {"unseen": [{**each, "calls": len(each["calls"])} for each in self.seen.values()]}
