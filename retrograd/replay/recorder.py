"""One recording of a step: which tensors take part, what is done for real, what is left behind."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from retrograd.backend import CPU, NAMED
from retrograd.backend.arrays import Array
from retrograd.engine.inference import INFERENCE_CELL
from retrograd.engine.node import Node
from retrograd.engine.state import TRANSFORMS, count_unusual
from retrograd.replay.program import Slot
from retrograd.replay.reading.effects import Nest, Outside, rebuilt
from retrograd.replay.recording import RECORDING, Recorded, Tape, position, running
from retrograd.tensor import Tensor

_one_at_a_time = threading.Lock()


@dataclass(slots=True, eq=False)
class Read:
    """A number that the step reads from a tensor, to be returned or stored and nothing else."""

    value: object
    slot: Slot | None
    name: str  # the method that reads it


@dataclass(slots=True, eq=False)
class Adopted:
    """A tensor from outside of the step; `place` is None where it is always this one."""

    tensor: Tensor
    place: int | None
    held: Array
    slot: Slot
    owner: Adopted | None  # of a `.grad`: whose it is
    required: bool  # whether it requires grad
    first_grad: Tensor | None  # its `.grad` when it was adopted
    grad: Tensor | None  # the same at the beginning of a segment
    version: int  # likewise
    shared: bool = False  # another one lies in its memory


@dataclass(slots=True, eq=False)
class Done:
    """What a stretch of instructions left behind, or what was done for real between two."""

    start: int  # of the instructions
    stop: int
    grads: list[tuple[Adopted, Tensor | None]] = field(default_factory=list)
    writes: list[tuple[Adopted, int]] = field(default_factory=list)
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any] | None = None
    resets: frozenset[int] = frozenset()  # identities of tensors whose `.grad` a call takes away
    line: int = 0  # of the plan's text
    sets: list[tuple[Adopted, str | None]] = field(default_factory=list)  # gradients by variable


class Recorder:
    """What reads a step tells this object; ``with recorder:`` is around all of it.

    >>> import retrograd as torch
    >>> weight = torch.ones(2, requires_grad=True)
    >>> with Recorder() as recorder:
    ...     recorder.adopt(weight)
    ...     (weight * 3).sum().backward()
    >>> [instruction.op for instruction in recorder.tape.instructions]
    ['mul', '_sum_all', 'xp.filled', 'xp.filled', 'mul']
    >>> weight.grad
    tensor([3., 3.])
    """

    def __init__(self) -> None:
        self.tape = Tape()
        self.adopted: dict[int, Adopted] = {}
        self.done: list[Done] = []
        self._start = 0
        self._active = False
        self._leaves = 0  # how deep in calls of the library
        self.device = ""  # the device's type, where a tensor from outside is not on the CPU

    # ---- what is recorded

    def __enter__(self) -> Recorder:
        if TRANSFORMS.active or not _one_at_a_time.acquire(blocking=False):
            self.tape.refuse("a function transform or another recording is running")
            return self
        self._active = True
        self._collections = _collections()
        self._collecting = gc.isenabled()
        gc.disable()  # what is made meanwhile stays in the youngest generation, where `stop` looks
        running.append(self.tape)
        self._resume()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        if running and running[0] is self.tape:
            running.clear()
            _one_at_a_time.release()

    def stop(self) -> None:
        """Record no more: every tensor gets its real array back."""
        if self._active:
            self._pause()
            restore(taken.tensor for taken in self.adopted.values())
            restore(gc.get_objects(0 if self._collections == _collections() else None))
            if self._collecting:
                gc.enable()
            self._active = False

    def _resume(self) -> None:
        NAMED["cpu"] = RECORDING
        count_unusual(1)

    def _pause(self) -> None:
        NAMED["cpu"] = CPU
        count_unusual(-1)

    def refuse(self, reason: str, site: tuple[Any, int] | None = None) -> None:
        """Say that the step cannot be replayed; it goes on as ever, from here or after the leaf."""
        self.tape.refuse(reason, site)
        if not self._leaves:
            self.stop()

    def adopt(self, tensor: object, place: int | None = None) -> None:
        """A tensor from outside takes part: always this one, or the one that has `place`."""
        if not self._active or not isinstance(tensor, Tensor) or is_recorded(tensor):
            return
        if type(tensor._array) is not CPU.array or tensor._level:
            self.device = self.device or tensor.device.type
            self.refuse("a tensor is sparse, batched, or not on the CPU")
            return
        reason = _strangeness(tensor)
        if reason is not None:
            self.refuse(reason)
        if self._active:
            self._take(tensor, place, None)

    def _take(self, tensor: Tensor, place: int | None, owner: Adopted | None) -> None:
        array = tensor._array
        known = self.tape.place_of(array)
        if known is not None and (place is not None or known[0].kind != "input"):
            self.tape.refuse("tensors from outside of the step overlap in memory")
        slot = self.tape.slot_of(array) if known else self.tape.new_buffer(array, "input")
        grad, version = _grad(tensor), _version(tensor)
        facts = tensor._requires_grad, grad, grad, version
        self.adopted[id(tensor)] = taken = Adopted(tensor, place, array, slot, owner, *facts)
        recorded: Any = Recorded(array, slot)
        tensor._array = recorded
        if grad is not None and owner is None and not is_recorded(grad):
            dense = type(grad._array) is CPU.array
            if dense:
                self._take(grad, None, taken)
            if not dense or grad._requires_grad:
                self.tape.refuse("a .grad is sparse or has a history")

    def leaf(self, function: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of the library as part of the recording."""
        self._leaves += 1
        try:
            return function(*args, **(kwargs or {}))
        except Exception:
            if not self._active or self._leaves > 1:
                raise
            # perhaps only because NumPy cannot read these arrays: the ordinary call decides
            self.tape.refuse(f"{getattr(function, '__name__', function)} cannot be recorded")
            self.stop()
            return function(*args, **(kwargs or {}))
        finally:
            self._leaves -= 1
            if self.tape.refusal is not None and not self._leaves:
                self.stop()

    def item(self, tensor: Tensor, name: str = "item") -> Read:
        """A number that is read from a tensor of the step."""
        array: Any = tensor._array
        slot = array.slot if type(array) is Recorded and self.tape.refusal is None else None
        return Read(getattr(tensor if slot is None else array.held, name)(), slot, name)

    def call(self, function: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Do something for real, between two stretches of instructions."""
        args, kwargs = _listed(args), _listed(kwargs or {})
        if self.tape.refusal is not None:
            self.stop()
            return function(*plain(args), **plain(kwargs))
        if function is setattr and args[1:] == ("grad", None):
            self.adopt(args[0])
            setattr(*args)  # what a segment leaves in `.grad` is noted at its end
            return None
        self.close_segment()
        swapped = self._real((args, kwargs))
        self._pause()
        try:
            result = function(*plain(args), **plain(kwargs))
        finally:
            self._resume()
            self._recorded_again(swapped)
            self.tape.position = position()
        here = self._start
        resets = frozenset(map(id, _without_grad(function, *args, **kwargs)))
        call = function, args, kwargs, result
        self.done.append(Done(here, here, call=call, resets=resets))
        for tensor in tensors_in(result):
            if id(tensor) not in self.adopted:
                self.adopt(tensor, -len(self.done))
        return result

    def close_segment(self) -> None:
        """Note what the instructions since the last call left in tensors from outside."""
        self.tape.check_draws()
        done = Done(self._start, len(self.tape.instructions))
        for taken in list(self.adopted.values()):
            tensor = taken.tensor
            version, grad = _version(tensor), _grad(tensor)
            if version != taken.version:
                done.writes.append((taken, version - taken.version))
            if grad is not taken.grad and taken.owner is None:
                done.grads.append((taken, grad))
            array: Any = tensor._array
            moved = type(array) is not Recorded or array.held is not taken.held
            if moved or tensor._grad_fn is not None or tensor._requires_grad is not taken.required:
                self.tape.refuse("a tensor from outside gets a history, a flag, or another layout")
            taken.version, taken.grad = version, grad
        self.done.append(done)
        self._start = done.stop

    def question(self, function: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Ask about elements of tensors from outside; no replay does it, so guards must hold."""
        if not self._active:
            return function(*args, **(kwargs or {}))
        swapped = self._real((args, kwargs))
        self._pause()
        try:
            return function(*args, **(kwargs or {}))
        finally:
            self._resume()
            self._recorded_again(swapped)

    def _real(self, values: object) -> list[tuple[Tensor, Recorded]]:
        """Give tensors from outside, gradients and arguments of a call their real arrays back."""
        tensors = [taken.tensor for taken in self.adopted.values()]
        tensors += [
            t._meta.grad for t in tensors if t._meta is not None and t._meta.grad is not None
        ]
        swapped: list[tuple[Tensor, Recorded]] = []
        for tensor in (*tensors, *tensors_in(values)):
            array: Any = tensor._array
            if type(array) is Recorded:
                tensor._array = array.held
                swapped.append((tensor, array))
        return swapped

    def _recorded_again(self, swapped: list[tuple[Tensor, Any]]) -> None:
        for tensor, array in swapped:
            if tensor._array is not array.held:
                self.tape.refuse("a call gives a tensor other memory")
                return
            tensor._array = array
        for taken in list(self.adopted.values()):
            taken.version = _version(taken.tensor)
            grad = _grad(taken.tensor)
            if grad is not taken.grad and taken.owner is None:
                taken.grad = grad
                if grad is not None and not is_recorded(grad):
                    self._take(grad, None, taken)


def _strangeness(tensor: Tensor) -> str | None:
    """Why a tensor from outside cannot take part, or None."""
    meta = tensor._meta
    if tensor.grad_fn is not None:
        return "a tensor has a history from before the step"
    if tensor._cell is INFERENCE_CELL or (meta is not None and meta.tangents):
        return "a tensor comes from inference mode, or has tangents"
    if meta is not None and (meta.hooks or meta.post_accumulate_hooks):
        return "a tensor has hooks"
    return None


def is_recorded(tensor: Tensor) -> bool:
    """Whether a tensor's array is of a recording."""
    array: object = tensor._array
    return type(array) is Recorded


def _version(tensor: Tensor) -> int:
    return 0 if tensor._cell is None else tensor._cell.version


def _grad(tensor: Tensor) -> Tensor | None:
    return None if tensor._meta is None else tensor._meta.grad


def _without_grad(function: Any, first: object = True, *_: object, **named: object) -> list[Any]:
    """The tensors that have no `.grad` after a call, whatever they had before."""
    if getattr(function, "__name__", "") != "zero_grad" or not named.get("set_to_none", first):
        return []
    owner = function.__self__
    if hasattr(owner, "param_groups"):
        return [x for group in owner.param_groups for x in group["params"]]
    return list(owner.parameters())


def _listed(value: Any) -> Any:
    """Arguments that can be used again: iterators as lists."""
    if isinstance(value, Iterator):
        return list(value)
    if type(value) in (tuple, list):
        return type(value)(map(_listed, value))
    return {name: _listed(x) for name, x in value.items()} if type(value) is dict else value


def plain(value: Any) -> Any:
    """Values without the marks that are for the plan."""
    if type(value) in (tuple, list):
        return type(value)(map(plain, value))
    if type(value) is dict:
        return {name: plain(item) for name, item in value.items()}
    if type(value) is Nest:
        return rebuilt(value.kind, plain(value.parts))
    return value.value if type(value) in (Read, Outside) else value


def tensors_in(value: object) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def _collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


def restore(objects: Iterable[object]) -> None:
    """Give tensors and nodes that hold recorded arrays the arrays inside."""
    for found in objects:
        if isinstance(found, Tensor):
            array: Any = getattr(found, "_array", None)
            if type(array) is Recorded:
                found._array = array.held
        elif isinstance(found, Node):
            saved = getattr(found, "saved", ())
            if any([type(x) is Recorded for x in saved]):
                found.saved = tuple([x.held if type(x) is Recorded else x for x in saved])
