"""What a running profiler does: it times ops, nodes of backward and the user's own blocks.

While a session runs, ops take the general path (see `engine.state`), and the names through which
generated code and derivative rules reach them lead to timed versions. Nothing is timed, and nothing
costs anything, outside of a session. A session belongs to the thread that started it.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Sequence
from itertools import count
from sys import _getframe
from time import perf_counter_ns, time_ns
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd import dtypes
from retrograd.backend.arrays import Array
from retrograd.backend.device import KERNELS
from retrograd.engine.node import Node
from retrograd.engine.profiling import PROFILER
from retrograd.engine.state import HOT, count_unusual
from retrograd.lifecycle.site import is_library
from retrograd.ops.calling.aten_names import event_name
from retrograd.ops.registry import Op

if TYPE_CHECKING:
    from retrograd.engine.node import BackwardCall, Gradient, Part

FORWARD, BACKWARD, USER = 0, 1, 7  # kinds of events, PyTorch's numbers for them

_TYPE_NAMES = {
    dtypes.float16: "c10::Half",
    dtypes.bfloat16: "c10::BFloat16",
    dtypes.float32: "float",
    dtypes.float64: "double",
    dtypes.complex32: "c10::complex<c10::Half>",
    dtypes.complex64: "c10::complex<float>",
    dtypes.complex128: "c10::complex<double>",
    dtypes.int64: "long int",
    dtypes.int32: "int",
    dtypes.int16: "short int",
    dtypes.int8: "signed char",
    dtypes.uint8: "unsigned char",
    dtypes.bool_: "bool",
}


class Record:
    """One timed call; its end is 0 while it runs."""

    __slots__ = (
        *("concrete", "end", "forward_thread", "kinds", "memory", "name", "scope", "sequence"),
        *("shapes", "stack", "start", "strides"),
    )

    def __init__(self, name: str, scope: int) -> None:
        self.name = name
        self.scope = scope
        self.sequence = -1
        self.forward_thread = 0
        self.memory = 0  # bytes of new results, those of the calls inside included
        self.shapes: list[list[object]] = []
        self.strides: list[list[object]] = []
        self.kinds: list[str] = []
        self.concrete: list[object] = []
        self.stack: list[tuple[CodeType, int]] = []
        self.start = self.end = 0


class Recorder:
    """The calls of one session, in the order in which they began."""

    def __init__(self, *, shapes: bool, memory: bool, stack: bool) -> None:
        self.records: list[Record] = []
        self.shapes = shapes
        self.memory = memory
        self.stack = stack
        self.thread = thread_number()
        self.native_thread = threading.get_native_id()
        self.running: list[Record] = []
        self.nodes = 0  # backward nodes that are running
        self.paused = False
        self.trace_start = self.trace_end = 0
        self.wall_start = 0

    def begin(self, name: str, scope: int = FORWARD) -> Record:
        """Note that a call begins."""
        record = Record(name, scope)
        if self.stack:
            record.stack = _user_frames()
        self.records.append(record)
        self.running.append(record)
        record.start = perf_counter_ns()
        return record

    def begin_op(self, name: str, op: Op | None, args: tuple[object, ...]) -> Record:
        """Note that an op begins; `op` is None where only arrays or plain values are known."""
        record = self.begin(name)
        if self.shapes:
            kinds = [""] * len(args) if op is None else [p.kind for p in op.plan.parameters]
            for value, kind in zip(args, kinds, strict=True):
                _describe(record, value, operand="operand" in kind)
            record.start = perf_counter_ns()  # looking at the arguments is not the op's time
        return record

    def end(self, record: Record, made: int = 0) -> None:
        """Note that it ended, having made `made` bytes of results."""
        if record.end:
            return  # the session ended before the call
        record.end = perf_counter_ns()
        record.memory = max(record.memory, made)
        running = self.running
        while running and running.pop() is not record:
            pass
        if running:
            running[-1].memory += record.memory

    def forget(self, record: Record) -> None:
        """Drop a call that turned out to be none."""
        self.end(record)
        self.records.remove(record)

    def close(self) -> None:
        """The session ends: so do the blocks that the user left open."""
        for record in reversed(self.running):
            self.end(record)
        self.trace_end = perf_counter_ns()


class _Current(threading.local):
    recorder: Recorder | None = None


CURRENT = _Current()

_thread_numbers = count(1)


class _Number(threading.local):
    value = 0


_number = _Number()


def thread_number() -> int:
    """This thread's number in events: 1 for the first that is profiled."""
    if not _number.value:
        _number.value = next(_thread_numbers)
    return _number.value


def _user_frames() -> list[tuple[CodeType, int]]:
    """`(code, line)` of the user's frames, the innermost first."""
    frame: FrameType | None = _getframe(2)
    found = []
    while frame is not None:
        code = frame.f_code
        if not is_library(code.co_filename):
            found.append((code, frame.f_lineno))
        frame = frame.f_back
    return found


def stack_entry(code: CodeType, line: int) -> str:
    """A frame as events show it: ``train.py(12): main``."""
    return f"{os.path.relpath(code.co_filename)}({line}): {code.co_name}"


# ------------------------------------------------------------------------------------ sessions


class _Swaps:
    """The names that lead to timed versions while any session runs."""

    lock = threading.Lock()
    undo: tuple[Callable[[], None], ...] = ()


def start(recorder: Recorder) -> None:
    """Begin a session in this thread; one that was running there ends."""
    if CURRENT.recorder is not None:
        stop(CURRENT.recorder)
    with _Swaps.lock:
        if not PROFILER.active:
            _Swaps.undo = _install()
        PROFILER.active += 1
    count_unusual(1)
    CURRENT.recorder = recorder
    recorder.wall_start = time_ns()
    recorder.trace_start = perf_counter_ns()


def stop(recorder: Recorder) -> bool:
    """End the session; False if it was not running any more."""
    if CURRENT.recorder is not recorder and not recorder.paused:
        return False
    recorder.paused = False
    recorder.close()
    CURRENT.recorder = None
    count_unusual(-1)
    with _Swaps.lock:
        PROFILER.active -= 1
        if not PROFILER.active:
            for undo in _Swaps.undo:
                undo()
            _Swaps.undo = ()
    return True


def pause(recorder: Recorder, paused: bool) -> None:
    """Stop recording for a while inside a session, or go on with it."""
    if paused and CURRENT.recorder is recorder:
        CURRENT.recorder = None
        recorder.paused = True
    elif not paused and recorder.paused and CURRENT.recorder is None:
        CURRENT.recorder = recorder
        recorder.paused = False


def _install() -> tuple[Callable[[], None], ...]:
    """Put timed versions in place; returns what puts the plain ones back."""
    from retrograd.autograd.profiling.public import timed_names
    from retrograd.core import put_aside
    from retrograd.ops.calling.dispatch import dispatch
    from retrograd.ops.calling.dispatch_inplace import dispatch_inplace, dispatch_out
    from retrograd.ops.registry import OPS, RAW

    plain_rules = dict(vars(RAW))
    timed = {
        "dispatch": _timed_dispatch(dispatch),
        "dispatch_inplace": _timed_inplace(dispatch_inplace),
        "dispatch_out": _timed_out(dispatch_out),
    }
    plain = {name: HOT[name] for name in timed}
    HOT.update(timed)
    for name in KERNELS:
        setattr(RAW, name, _timed_rule_step(name, OPS.get(name), getattr(RAW, name)))
    PROFILER.run_node = _run_node
    put_back = timed_names()

    def restore() -> None:
        HOT.update(plain)
        vars(RAW).update(plain_rules)
        for name in vars(RAW).keys() - plain_rules.keys():
            delattr(RAW, name)  # looked up anew when it is needed

    return restore, put_back, put_aside()


# ----------------------------------------------------------------------------------------- ops


def _timed_dispatch(plain: Callable[..., Any]) -> Callable[..., Any]:
    def dispatch(op: Op, args: tuple[object, ...], operator: bool = False) -> Any:
        recorder = CURRENT.recorder
        if recorder is None:
            return plain(op, args, operator)
        record = recorder.begin_op(event_name(op), op, args)
        result = None
        made = 0
        try:
            result = plain(op, args, operator)
            if result is NotImplemented:
                recorder.forget(record)
                return result
            outputs = (result,) if op.outputs == 1 else tuple(result)
            node = outputs[0]._grad_fn if outputs else None
            if node is not None:
                record.sequence = node.sequence
            if recorder.memory and op.view != "always":
                made = sum([t._array.nbytes for t in outputs if t._view is None])
        finally:
            recorder.end(record, made)
        return result

    return dispatch


def _timed_inplace(plain: Callable[..., Any]) -> Callable[..., Any]:
    def dispatch_inplace(op: Op, args: tuple[object, ...]) -> Any:
        recorder = CURRENT.recorder
        if recorder is None:
            return plain(op, args)
        name = (op.inplace_name or op.name).removeprefix("_")
        record = recorder.begin_op(f"aten::{name}", op, args)
        before = getattr(args[0], "_grad_fn", None)
        try:
            result = plain(op, args)
            if result._grad_fn is not None and result._grad_fn is not before:
                record.sequence = result._grad_fn.sequence
        finally:
            recorder.end(record)
        return result

    return dispatch_inplace


def _timed_out(plain: Callable[..., object]) -> Callable[..., Any]:
    def dispatch_out(op: Op, args: tuple[object, ...], out: object) -> Any:
        recorder = CURRENT.recorder
        if recorder is None:
            return plain(op, args, out)
        record = recorder.begin_op(event_name(op), op, args)
        try:
            return plain(op, args, out)
        finally:
            recorder.end(record)

    return dispatch_out


def _timed_rule_step(name: str, op: Op | None, plain: Any) -> Any:
    """An op as derivative rules use it, on arrays."""
    shown = f"aten::{name}" if op is None else event_name(op)
    is_view = op is not None and op.view is not None

    @functools.wraps(plain, updated=())
    def timed(*args: Any, **options: Any) -> Any:
        recorder = CURRENT.recorder
        if recorder is None or not recorder.nodes:
            return plain(*args, **options)
        record = recorder.begin_op(shown, None, args)
        made = 0
        try:
            result = plain(*args, **options)
            if recorder.memory and not is_view:
                made = _bytes_of(result)
        finally:
            recorder.end(record, made)
        return result

    return timed


def _bytes_of(result: object) -> int:
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return sum([part.nbytes for part in parts if isinstance(part, np.ndarray)])


# ------------------------------------------------------------------------------------ backward


def _run_node(
    node: Node, gradient: Gradient, call: BackwardCall, live: set[Node] | None, as_tensors: bool
) -> Sequence[Part]:
    """A node of the engine, timed: the engine's work around it and the node's own."""
    from retrograd.engine.accumulate import is_accumulator
    from retrograd.engine.node import GraphRoot
    from retrograd.engine.walk import run_general

    recorder = CURRENT.recorder
    if recorder is None:
        return run_general(node, gradient, call, live, as_tensors)
    name = "torch::autograd::GraphRoot" if isinstance(node, GraphRoot) else node.name()
    outer = recorder.begin(f"autograd::engine::evaluate_function: {name}")
    inner = recorder.begin(name, BACKWARD)
    if not is_accumulator(node):
        for record in (outer, inner):
            record.sequence = node.sequence
            record.forward_thread = recorder.thread
    if recorder.shapes and not isinstance(node, GraphRoot):
        for part in gradient if isinstance(gradient, list) else [gradient]:
            _describe(inner, part)
    recorder.nodes += 1
    made = 0
    try:
        results = run_general(node, gradient, call, live, as_tensors)
        if recorder.memory and results and not isinstance(node, GraphRoot):
            arrays = [getattr(part, "_array", part) for part in results]
            fresh = [a for a in arrays if isinstance(a, np.ndarray) and a.base is None]
            made = _bytes_of([a for a in fresh if a is not gradient])
    finally:
        recorder.nodes -= 1
        recorder.end(inner, made)
        recorder.end(outer)
    return results


# ----------------------------------------------------------------------------------- arguments


def _describe(record: Record, value: object, *, operand: bool = False) -> None:
    """Add one argument to a record; a number that stands in for a tensor is shown as one."""
    shape: Any = []
    strides: Any = []
    concrete: Any = None
    array = getattr(value, "_array", value)
    if isinstance(array, np.ndarray):
        shape, strides = list(array.shape), _strides(array)
        kind = _type_name(array.dtype)
    elif operand and isinstance(value, (bool, int, float, complex)):
        kind = _type_name(np.asarray(value).dtype)
    elif isinstance(value, (bool, int, float, complex, str)):
        kind, concrete = "Scalar", value
    elif isinstance(value, (tuple, list)) and value and all(hasattr(x, "_array") for x in value):
        kind = "TensorList"
        shape = [list(item._array.shape) for item in value]
        strides = [_strides(item._array) for item in value]
    elif isinstance(value, (tuple, list)) and all(isinstance(x, (int, float)) for x in value):
        kind, concrete = "ScalarList", list(value)
    else:
        kind = ""
    record.shapes.append(shape)
    record.strides.append(strides)
    record.kinds.append(kind)
    record.concrete.append(concrete)


def _strides(array: Array) -> list[int]:
    return [step // max(array.itemsize, 1) for step in array.strides]


def _type_name(kind: object) -> str:
    return _TYPE_NAMES.get(dtypes.from_numpy_dtype(kind), str(kind))
