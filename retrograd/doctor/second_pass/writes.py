"""Second pass, question "write": every write into memory, with the user's line."""

from __future__ import annotations

import importlib
from typing import Any

from retrograd.doctor.evidence.overwritten import find_overwritten, memory_of, shape_in, versions_in
from retrograd.doctor.session import Watched
from retrograd.watching.graph import tensors_in
from retrograd.watching.public_calls import PublicCalls
from retrograd.watching.torch_types import TensorLike

MOST_WRITES = 4096  # kept per piece of memory
_INPLACE = frozenset(
    "__setitem__ __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __ipow__ __imod__".split()
)


class WriteWatch:
    """Logs, for each piece of memory, the versions that operations wrote over."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.torch = watched.engine.torch
        self.log: dict[int, list[tuple[int, str, list[list[object]]]]] = {}
        self.shapes: dict[int, set[str]] = {}  # of what was written, as messages write them
        self._mode = self._make_mode()

    def __enter__(self) -> WriteWatch:
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._mode.__exit__(*exception)

    def _make_mode(self) -> Any:
        if self.torch.__package__ != "torch":
            return PublicCalls(self._note_public, lambda tensor: None)
        watch = self
        mode: Any = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode

        class Writes(mode):  # type: ignore[misc]
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                if func._schema.is_mutable:
                    watch.note(func, args, kwargs or {})
                return func(*args, **(kwargs or {}))

        return Writes()

    def note(self, operation: Any, args: Any, keywords: Any) -> None:
        """Write down what an operation is going to overwrite: arguments marked as written."""
        for position, argument in enumerate(operation._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            value = args[position] if position < len(args) else keywords.get(argument.name)
            for tensor in tensors_in(value, self.torch.Tensor):
                self._write_down(tensor, tensor._version, str(operation))

    def _note_public(self, function: Any, args: Any, keywords: Any, result: object) -> object:
        """retrograd: a call is told when it is done, so the version before it is one less."""
        name = function.__name__
        by_name = name in _INPLACE or (name.endswith("_") and not name.endswith("__"))
        written: list[object] = []
        if args and (by_name or keywords.get("inplace")):
            written.append(args[0])
        written.append(keywords.get("out"))
        for tensor in tensors_in(written, self.torch.Tensor):
            self._write_down(tensor, tensor._version - 1, name)
        return result

    def _write_down(self, tensor: TensorLike, version: int, operation: str) -> None:
        """A write over a version, with the user's lines."""
        memory = memory_of(tensor)
        if memory is None:
            return
        log = self.watched.tracer.log
        stack = [[p.file, p.line, p.function] for p in log.places_of(log.here())]
        writes = self.log.setdefault(memory, [])
        writes.append((version, operation, stack))
        self.shapes.setdefault(memory, set()).add(", ".join(map(str, tensor.shape)))
        if len(writes) > MOST_WRITES:
            del writes[: MOST_WRITES // 2]

    def found(self) -> dict[str, object]:
        """The writes since the value that failed was saved."""
        saved = find_overwritten(self.watched)
        if saved is None:
            memory, expected = self._by_version()
        else:
            memory, expected = saved.storage, saved.expected
        writes = self.log.get(memory, [])
        first = [i for i, (version, _, _) in enumerate(writes) if version == expected]
        since = writes[first[-1] :] if first else []
        return {"writes": [{"op": op, "stack": stack} for _, op, stack in since if stack]}

    def _by_version(self) -> tuple[int, int]:
        """The memory of a value whose saving node is hidden: its last writes fit the message.

        It is still in use, so that the last writes in the log of its address are its own. Of
        several the one that was written in the shape of the message, then the youngest.
        """
        failure = self.watched.recorder.failure
        versions = None if failure is None else versions_in(failure.error)
        if failure is None or versions is None:
            return -1, 0
        version, expected = versions
        fitting = [
            memory
            for memory, writes in self.log.items()
            if writes[-1][0] == version - 1 and any(w[0] == expected for w in writes)
        ]
        shape = shape_in(failure.error)
        fitting.sort(key=lambda memory: shape in self.shapes[memory])
        return (fitting[-1] if fitting else -1), expected
