"""A backward call that is interrupted, anywhere: no mode stays behind, no gradient is half added.

The interpreter looks for signals where a function begins, after a call and where a loop turns
round. `Interruption` raises KeyboardInterrupt at the n-th such point inside the library; the tests
go through all of them.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd import core
from retrograd.autograd import forward_ad, graph
from retrograd.engine import state
from retrograd.engine.accumulate import ACTIVE, GRAD_LOCK
from retrograd.engine.state import ANOMALY, HOT, STATE, TRANSFORMS
from retrograd.lifecycle.site import is_library
from retrograd.utils.checkpoint import checkpoint

_PACKAGE = os.path.dirname(torch.__file__)
_TRACED = (
    *(os.path.join(_PACKAGE, room) for room in ("autograd", "engine", "func", "transforms")),
    os.path.join(_PACKAGE, "utils"),
    "<retrograd run",
)
_TRIALS = 50  # of each program, spread evenly over its points


class Interruption:
    """``with Interruption(n):`` KeyboardInterrupt at the n-th point; `passed` counts them."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.passed = 0

    def __enter__(self) -> Interruption:
        self._listen(True)
        return self

    def __exit__(self, *exception: object) -> None:
        self._listen(False)

    def _listen(self, begin: bool) -> None:
        if sys.version_info < (3, 13):
            # 3.12 asks, when tracing starts, if any frame wants to hear of instructions
            sys._getframe().f_trace_opcodes = True
            sys.settrace(self._trace if begin else None)
            return
        # a frame of 3.13 that asks while it is being entered does not hear of all of them
        monitoring = sys.monitoring
        events, tool = monitoring.events, monitoring.DEBUGGER_ID
        callbacks = {events.PY_START: self._start, events.INSTRUCTION: self._instruction}
        if begin:
            monitoring.use_tool_id(tool, "Interruption")
        for event, callback in callbacks.items():
            monitoring.register_callback(tool, event, callback if begin else None)
        monitoring.set_events(tool, events.PY_START | events.INSTRUCTION if begin else 0)
        if begin:
            monitoring.restart_events()
        else:
            monitoring.free_tool_id(tool)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not _is_traced(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        self._count()
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode" and frame.f_lasti in _points(frame.f_code):
            self._count()
        return self._step

    def _start(self, code: CodeType, offset: int) -> Any:
        if not _is_traced(code.co_filename):
            return sys.monitoring.DISABLE
        self._count()
        return None

    def _instruction(self, code: CodeType, offset: int) -> Any:
        if not _is_traced(code.co_filename) or offset not in _points(code):
            return sys.monitoring.DISABLE
        self._count()
        return None

    def _count(self) -> None:
        self.passed += 1
        if self.passed == self.number:
            if sys.version_info < (3, 13):
                sys.settrace(None)
            raise KeyboardInterrupt


@functools.cache
def _is_traced(file: str) -> bool:
    return file.startswith(_TRACED) and is_library(file)


@functools.cache
def _points(code: CodeType) -> set[int]:
    """The instructions that run after one at which the interpreter looks for signals."""
    found = set()
    table: Any = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    for before, after in pairwise(dis.get_instructions(code)):
        if before.opname.startswith("CALL"):
            # A signal that is seen after a call belongs to the call. Where a block ends
            # with it, raising at the next instruction would be another thing.
            if _handler(table, before.offset) == _handler(table, after.offset):
                found.add(after.offset)
        elif before.opname == "JUMP_BACKWARD":
            found.add(before.argval)  # what follows it in memory may be a handler
    return found


def _handler(table: Any, offset: int) -> int | None:
    """Where an exception at an instruction goes."""
    return next((entry.target for entry in table if entry.start <= offset < entry.end), None)


def idle() -> tuple[Any, ...]:
    """Everything that a backward call sets for its duration."""
    return (
        *(STATE.call, STATE.depth, STATE.grad_enabled, STATE.cut, STATE.inference),
        *(STATE.saved_hooks, HOT["NO_GRAD"], HOT["UNUSUAL"], ACTIVE.calls),
        *(TRANSFORMS.active, TRANSFORMS.dual_levels),
        *(STATE.vmaps, STATE.duals, STATE.transforms, STATE.saved_hooks_refused, STATE.op_modes),
        *(STATE.passes_tangents, STATE.asked, ANOMALY.enabled, forward_ad._current_level),
    )


IDLE = (None, 0, True, None, False, (), *(0,) * 5, (), (), 0, None, (), True, False, False, -1)


def network(x: Any, w: Any) -> Any:
    h = (x @ w).tanh()
    return (h * h + x.exp()).sum() * w.sum()


def hooked(x: Any, w: Any) -> Any:
    h = (x @ w).tanh()
    h.register_hook(lambda gradient: gradient * 2)
    h.grad_fn.register_prehook(lambda gradients: None)
    return (h * x).sum()


def nested(x: Any, w: Any) -> Any:
    h = (x @ w).exp()

    def again(gradient: Any) -> None:
        with torch.enable_grad():
            y = torch.ones(2, requires_grad=True) * 2
            total = y.exp().sum()
        total.backward()

    h.register_hook(again)
    return h.sum()


def checkpointed(x: Any, w: Any) -> Any:
    return checkpoint(lambda x, w: (x @ w).tanh().exp(), x, w, use_reentrant=False).sum()


def in_views(x: Any, w: Any) -> Any:
    h = x * 2
    h[0].mul_(3)
    return (h @ w).sum()


PROGRAMS = [network, hooked, nested, checkpointed, in_views]
WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "backward": lambda loss, x, w: loss.backward(),
    "inputs": lambda loss, x, w: loss.backward(inputs=[x, w]),
    "create_graph": lambda loss, x, w: torch.autograd.backward(loss, create_graph=True),
}


def leaves() -> tuple[Any, Any]:
    x = torch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
    return x, torch.tensor([[1.0, -1.0], [0.5, 2.0]], requires_grad=True)


def gradients(x: Any, w: Any) -> list[Any]:
    return [None if t.grad is None else t.grad.detach().numpy().copy() for t in (x, w)]


def whole(found: Any, expected: Any) -> bool:
    return found is None or np.array_equal(found, expected)


@pytest.fixture(params=["python", "compiled"])
def engine(request: Any) -> Iterator[str]:
    """The Python engine, which has a point at every step, and the compiled one, which has few."""
    if request.param == "compiled" and not core.AVAILABLE:
        pytest.skip("the compiled core is missing")
    before = core.AVAILABLE and core._core.switch(request.param == "compiled")
    yield request.param
    if core.AVAILABLE:
        core._core.switch(before)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_at_every_point(program: Callable[[Any, Any], Any], way: str, engine: str) -> None:
    run = WAYS[way]
    x, w = leaves()
    run(program(x, w), x, w)  # compiles what is compiled at the first call
    expected = gradients(x, w)
    assert idle() == IDLE
    x, w = leaves()
    loss = program(x, w)
    with Interruption(0) as counted:
        run(loss, x, w)
    assert counted.passed > (40 if engine == "python" else 1)
    outcomes = set()
    gc.disable()  # a collection would come at other points each time
    try:
        for number in range(1, counted.passed, 1 + counted.passed // _TRIALS):
            x, w = leaves()
            loss = program(x, w)
            with pytest.raises(KeyboardInterrupt), Interruption(number):
                run(loss, x, w)
            assert idle() == IDLE, number
            assert not _locked(), number
            assert all(map(whole, gradients(x, w), expected)), number
            x.grad = w.grad = None
            try:
                run(loss, x, w)
            except RuntimeError as error:
                assert error.code == "RG101", number
                outcomes.add(error.reason)
            else:
                outcomes.add("as before")
                assert all(map(np.array_equal, gradients(x, w), expected)), number
            assert idle() == IDLE, number
    finally:
        gc.enable()
    # the last two: what came after the walk, when all was done
    assert outcomes <= {"as before", "interrupted", "same-loss-twice", None}
    assert "as before" in outcomes
    if way != "create_graph" and engine == "python":
        assert "interrupted" in outcomes


def _locked() -> bool:
    """Whether this thread still holds a lock, for which another would wait for ever."""
    return GRAD_LOCK._is_owned() or state.COUNTING._is_owned()


def test_modes_and_their_counts_change_in_one_step() -> None:
    """Between the first write and the last nothing looks for signals, or lets a thread in."""
    for function in (state._switch, state.set_grad_mode):
        names = [item.opname for item in dis.get_instructions(function)]
        written = [at for at, name in enumerate(names) if name.startswith("STORE_")]
        first = next(at for at in written if names[at] in ("STORE_ATTR", "STORE_SUBSCR"))
        until = next(at for at, name in enumerate(names) if name.startswith("RETURN_"))
        if function is state.set_grad_mode:  # the branch for interpreters without the global lock
            until = next(at for at, name in enumerate(names) if name.startswith("CALL"))
        assert first < until
        assert not [n for n in names[first:until] if n.startswith(("CALL", "JUMP_BACKWARD"))]


def _anomaly(x: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            (x * 2).sum().backward()


def _modes(x: Any) -> None:
    with torch.no_grad(), torch.enable_grad():
        x * 2
    with torch.inference_mode(), torch.no_grad():
        x * 2


def _saved_hooks(x: Any) -> None:
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        (x * x).sum().backward()
    with graph.disable_saved_tensors_hooks("no"):
        x * 2


def _dual(x: Any) -> None:
    with forward_ad.dual_level():
        forward_ad.make_dual(x, torch.ones_like(x)).sin()


def _drawn(x: Any) -> None:
    torch.vmap(lambda row: row + torch.randn(2), randomness="different")(x)


class _Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return 2 * gradient * ctx.saved_tensors[0]


BLOCKS: dict[str, Callable[[Any], Any]] = {
    "modes": _modes,
    "anomaly": _anomaly,
    "saved hooks": _saved_hooks,
    "checkpoint": lambda x: checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum(),
    "dual level": _dual,
    "vmap": torch.vmap(lambda row: row.sum() * row),
    "nested": torch.vmap(torch.vmap(lambda x: x.sin())),
    "drawn": _drawn,
    "custom": torch.vmap(_Square.apply),
    "grad": torch.func.grad(lambda x: x.exp().sum()),
    "vmap of grad": torch.vmap(torch.func.grad(lambda x: x.exp().sum())),
    "jvp": lambda x: torch.func.jvp(torch.sin, (x,), (x,)),
    "hessian": lambda x: torch.func.hessian(lambda x: x.exp().sum())(x),
}


@pytest.mark.skipif(not core.AVAILABLE, reason="the blocks of the core are the ones in one step")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_at_every_point(name: str) -> None:
    """A block of modes is either not entered or left again."""
    run = BLOCKS[name]
    x = torch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
    run(x)
    run(x)
    with Interruption(0) as counted:
        run(x)
    interrupted = 0
    gc.disable()
    try:
        for number in range(1, counted.passed, 1 + counted.passed // 120):
            try:
                with Interruption(number):
                    run(x)
            except KeyboardInterrupt:
                interrupted += 1  # otherwise it came where Python swallows exceptions
            assert idle() == IDLE, number
    finally:
        gc.enable()
    run(x)
    assert interrupted > min(counted.passed, 120) / 3


def test_exceptions_in_hooks_name_themselves_later() -> None:
    x, w = leaves()
    h = (x @ w).tanh()
    handle = h.register_hook(lambda gradient: 1 / 0)
    loss = h.exp().sum()
    with pytest.raises(ZeroDivisionError):
        loss.backward()
    handle.remove()
    with pytest.raises(RuntimeError, match="second time") as raised:
        loss.backward()
    assert raised.value.reason == "interrupted"
    assert "stopped halfway, with ZeroDivisionError" in raised.value.report.why


def test_interrupted_call_with_retain_graph_can_be_repeated() -> None:
    x, w = leaves()
    h = (x @ w).tanh()
    handle = h.register_hook(lambda gradient: 1 / 0)
    loss = h.exp().sum()
    with pytest.raises(ZeroDivisionError):
        loss.backward(retain_graph=True)
    handle.remove()
    loss.backward()
    found = gradients(x, w)
    x, w = leaves()
    (x @ w).tanh().exp().sum().backward()
    assert all(map(np.array_equal, found, gradients(x, w)))


def test_no_gradient_waits_in_the_nodes_after_a_failure() -> None:
    x, w = leaves()
    h = (x @ w).tanh()
    a, b = h * 2, h * 3
    a.register_hook(lambda gradient: 1 / 0)
    loss = (a + b).sum()
    with pytest.raises(ZeroDivisionError):
        loss.backward()
    waiting = [node for node in _nodes(loss.grad_fn) if getattr(node, "buffer", None) is not None]
    assert waiting == []


def _nodes(root: Any) -> list[Any]:
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        found.append(node)
        stack += [edge for edge in node.edges if edge is not None]
    return found


# ------------------------------------------------------------------------- from the real world


def chain(x: Any, length: int) -> Any:
    for _ in range(length):
        x = x * 1.0
    return x.sum()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an interval timer")
def test_signals() -> None:
    """A timer interrupts calls of about ten milliseconds at many different times."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    interrupted = 0
    try:
        for trial in range(30):
            x = torch.ones(3, requires_grad=True)
            loss = chain(x, 4000)
            try:
                try:  # the alarm may come as soon as it is set, and until it is off
                    signal.setitimer(signal.ITIMER_REAL, 0.0002 + trial * 0.0002)
                    loss.backward()
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            assert idle() == IDLE
            assert whole(gradients(x, x)[0], [1.0, 1.0, 1.0])
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    x = torch.ones(3, requires_grad=True)
    chain(x, 10).backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork") or not core.AVAILABLE, reason="needs fork and the core")
def test_a_training_loop_interrupted_at_random_moments() -> None:
    program = [sys.executable, "-m", "tests.autograd.interrupted_training", "400", "1"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_asynchronous_exceptions_in_a_thread() -> None:
    done: list[Any] = []
    leaf: list[Any] = []

    def work() -> None:
        try:
            while True:
                x = torch.ones(3, requires_grad=True)
                loss = chain(x, 500)
                leaf[:] = [x]
                loss.backward()
        except KeyboardInterrupt:
            done.append(idle()[:8])

    for trial in range(10):
        thread = threading.Thread(target=work)
        thread.start()
        while not leaf:
            time.sleep(0.001)
        time.sleep(0.0013 * trial)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(KeyboardInterrupt)
        )
        thread.join()
        assert whole(gradients(leaf[0], leaf[0])[0], [1.0, 1.0, 1.0])
        leaf.clear()
    assert done == [IDLE[:8]] * 10
    assert idle() == IDLE


def test_interrupt_reaches_a_call_that_continues_in_another_thread() -> None:
    """Deeply nested calls go on in a new thread; Ctrl-C comes to the main thread, which waits."""
    reached: list[str] = []

    def deeper(depth: int) -> None:
        y = torch.ones(2, requires_grad=True) * 2

        def hook(gradient: Any) -> None:
            if depth:
                with torch.enable_grad():
                    deeper(depth - 1)
                return
            reached.append(threading.current_thread().name)
            if threading.current_thread() is not threading.main_thread():
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            for _ in range(200_000):
                time.sleep(0.001)
            reached.append("never")

        y.register_hook(hook)
        y.sum().backward()

    with pytest.raises(KeyboardInterrupt):
        deeper(45)
    assert reached == ["retrograd-backward"]
    assert idle() == IDLE
