"""What a process begins to exchange with the others of its group, each with its line.

A process that waits for an exchange that never comes cannot be asked, and ends by a signal. So each
exchange is written into a file of fixed size as it begins: what stands there outlives the process.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.watching.engines import Engine, Original
from retrograd.watching.lines import LineLog
from retrograd.watching.replacing import Undo, replaced

SLOT = 1024  # bytes
SLOTS = 2048  # that a file has: the newest exchanges are kept
NAME = "exchanges-{}.log"

COLLECTIVES = (
    *("all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor", "gather"),
    *("scatter", "reduce_scatter", "reduce_scatter_tensor", "all_to_all", "all_to_all_single"),
    *("barrier", "monitored_barrier", "all_gather_object", "gather_object", "new_group"),
    *("broadcast_object_list", "scatter_object_list"),
)
SIZED = frozenset(["all_reduce", "broadcast", "reduce"])
"""Those in which the tensors of all processes have the same size."""

FORWARD = "a forward of DistributedDataParallel"
BUFFERS = "copies buffers"  # what one without gradients does
BACKWARD = "a backward of DistributedDataParallel"


@dataclass(frozen=True)
class Begun:
    """One exchange as one process began it."""

    group: str  # its name, which is the same in all processes
    members: tuple[int, ...]
    index: int  # among those of the group, from 0 on
    name: str  # "all_reduce"
    detail: str  # "float32[3], SUM"
    file: str
    line: int
    function: str

    @property
    def place(self) -> Place:
        """The line that began it."""
        return Place(self.file, self.line, self.function)

    def __str__(self) -> str:
        return f"{self.name}({self.detail})" if self.detail else self.name


@dataclass
class Told:
    """What a process has left in its file."""

    rank: int = -1
    restart: int = 0  # how often the launcher had started all anew
    process: int = 0
    begun: list[Begun] = field(default_factory=list)  # the newest, in order


class Exchanges:
    """Writes down the exchanges of this process."""

    def __init__(
        self,
        engine: Engine,
        log: Callable[[], LineLog],
        safely: Callable[..., Any],
        folder: Path,
    ) -> None:
        self._engine = engine
        self._log = log
        self._safely = safely
        self._file = folder / NAME.format(os.getpid())
        self._descriptor = -1
        self._count = 0
        self._indices: dict[str, int] = {}
        self._inside = 0  # an exchange may be made of others
        self._awaited: Any = None  # the group of a forward whose backward has not come

    def install(self) -> Iterator[Undo]:
        """Follow the public functions and the wrapped models from now on."""
        package = self._engine.torch.__name__
        distributed = importlib.import_module(f"{package}.distributed")
        if not distributed.is_available():
            return
        owners = (distributed, importlib.import_module(f"{package}.distributed.distributed_c10d"))
        for name in COLLECTIVES:
            original = getattr(distributed, name)
            watched = self._around(name, original)
            for owner in owners:
                if getattr(owner, name, None) is original:
                    yield replaced(owner, name, watched)
        wrapper = self._engine.torch.nn.parallel.DistributedDataParallel
        yield replaced(wrapper, "__init__", self._making(wrapper.__init__))
        yield replaced(wrapper, "forward", self._forward(wrapper.forward))
        yield self._engine.watch(self._backward)

    def rank(self) -> str:
        """The number of this process, if it has belonged to a group."""
        return "" if self._descriptor < 0 else self._rank

    # ------------------------------------------------------------------ what is followed

    def _around(self, name: str, original: Callable[..., object]) -> Callable[..., object]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(*args: Any, **keywords: Any) -> object:
            if not self._inside:
                self._safely(self._note_call, name, signature, args, keywords)
            self._inside += 1
            try:
                return original(*args, **keywords)
            finally:
                self._inside -= 1

        return call

    def _note_call(self, name: str, signature: inspect.Signature, args: Any, keywords: Any) -> None:
        try:
            given = signature.bind(*args, **keywords).arguments
        except TypeError:
            return  # the call raises
        self._note(given.get("group"), name, _detail(name, given))

    def _making(self, original: Callable[..., object]) -> Callable[..., object]:
        def __init__(model: Any, *args: Any, **keywords: Any) -> None:
            if not self._inside:
                group = keywords.get("process_group")
                self._safely(self._note, group, "DistributedDataParallel", "")
            self._inside += 1
            try:
                original(model, *args, **keywords)
            finally:
                self._inside -= 1

        return __init__

    def _forward(self, original: Callable[..., object]) -> Callable[..., object]:
        def forward(model: Any, *args: Any, **keywords: Any) -> object:
            self._safely(self._note_forward, model)
            return original(model, *args, **keywords)

        return forward

    def _note_forward(self, model: Any) -> None:
        torch = self._engine.torch
        averages = torch.is_grad_enabled() and model.require_backward_grad_sync
        copies = model.require_forward_param_sync and model.forward_sync_buffers
        if averages or (copies and any(True for _ in model.module.buffers())):
            self._note(model.process_group, FORWARD, "" if averages else BUFFERS)
        if averages:
            self._awaited = model.process_group

    def _backward(
        self,
        outputs: Any,
        retain: bool,
        create: bool,
        inputs: Any,
        accumulates: bool,
        run: Original,
    ) -> object:
        group, self._awaited = self._awaited, None if accumulates else self._awaited
        if group is not None and accumulates:
            self._safely(self._note, group, BACKWARD, "")
        return run()

    # ------------------------------------------------------------------ what is written

    def _note(self, group: Any, name: str, detail: str) -> None:
        distributed = self._engine.torch.distributed
        if not (distributed.is_available() and distributed.is_initialized()):
            return
        if group is None:
            group = distributed.group.WORLD
        elif isinstance(group, int):  # of other processes
            return
        self._open(distributed)
        key, members = str(group.group_name), tuple(distributed.get_process_group_ranks(group))
        index = self._indices.get(key, 0)
        self._indices[key] = index + 1
        log = self._log()
        place = log.place_of(log.here()) or Place("", 0)
        function, line = place.function, place.line
        begun = Begun(key, members, index, name, detail, place.file, line, function)
        self._count += 1
        self._write(1 + (self._count - 1) % (SLOTS - 1), {"count": self._count, **asdict(begun)})

    def _open(self, distributed: Any) -> None:
        if self._descriptor < 0:
            self._descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600)
            self._rank = str(distributed.get_rank())
            restart = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
            head = {"rank": int(self._rank), "restart": restart, "process": os.getpid()}
            self._write(0, head)

    def _write(self, slot: int, what: Mapping[str, object]) -> None:
        data = json.dumps(what).encode()
        if len(data) < SLOT:  # a longer path is in no report
            os.pwrite(self._descriptor, data.ljust(SLOT), slot * SLOT)


def _detail(name: str, given: dict[str, Any]) -> str:
    """What has to be the same in all processes, as a call says it."""
    parts = []
    tensor: Any = given.get("tensor")
    if name in SIZED and hasattr(tensor, "shape"):
        kind = str(tensor.dtype).removeprefix("torch.")
        parts.append(f"{kind}[{', '.join(map(str, tensor.shape))}]")
    op = given.get("op")
    if op is not None:
        parts.append(str(op).rpartition(".")[2])
    parts += [f"{key}={given[key]}" for key in ("src", "dst") if given.get(key) is not None]
    return ", ".join(parts)


def read(file: Path) -> Told:
    """What stands in a file; what was not wholly written is left out."""
    data = file.read_bytes()
    slots = [_parsed(data[at : at + SLOT]) for at in range(0, len(data), SLOT)]
    if not slots or slots[0] is None:
        return Told()
    told = Told(**slots[0])
    found = sorted((slot for slot in slots[1:] if slot), key=lambda slot: int(slot.pop("count")))
    told.begun = [Begun(**{**slot, "members": tuple(slot["members"])}) for slot in found]
    return told


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(data.rstrip(b" \0"))
    except ValueError:
        return None
    return found
