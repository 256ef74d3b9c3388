"""The line log: which line made a node, through `sys.settrace` and through `sys.monitoring`."""

import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from retrograd.watching import lines, monitoring
from retrograd.watching.lines import LEAF, Tracer

made: list[int] = []


def node() -> int:
    """Stands for an operation: draws a number from the thread's counter."""
    made.append(len(made))
    return made[-1]


def counter() -> int:
    return len(made)


def is_user(file: str) -> bool:
    return file == __file__


def make(kind: str) -> Tracer:
    if kind == "settrace":
        return Tracer(counter, is_user)
    if not hasattr(sys, "monitoring"):
        pytest.skip("sys.monitoring came with Python 3.12")
    found = monitoring.make_tracer(counter, is_user)
    assert isinstance(found, monitoring.MonitoringTracer)
    return found


@pytest.fixture(params=["settrace", "monitoring"])
def tracer(request: pytest.FixtureRequest) -> Iterator[Tracer]:
    if sys.gettrace() is not None:
        pytest.skip("a debugger or coverage traces this run")
    made.clear()
    found = make(request.param)
    yield found
    found.stop()
    assert sys.gettrace() is None


def line_in(function: Callable[..., object], offset: int) -> int:
    return function.__code__.co_firstlineno + offset


def inner() -> int:
    first = node()
    return first + node()


def outer() -> int:
    total = 0
    for _ in range(3):
        total += inner() + node()
    return total


def numbers() -> Iterator[int]:
    yield node()
    yield node()


def failing() -> None:
    node()
    raise ValueError


def stack(tracer: Tracer, number: int) -> list[int]:
    return [place.line for _, place in tracer.log.stack_of(number) if place.function != "<lambda>"]


def test_the_stack_of_each_node(tracer: Tracer) -> None:
    tracer.start()
    outer()
    tracer.stop()
    for turn in range(3):
        caller = line_in(outer, 3)
        # `node` itself is the user's: its caller's line is the one before it
        assert stack(tracer, 3 * turn)[:-1] == [caller, line_in(inner, 1)]
        assert stack(tracer, 3 * turn + 1)[:-1] == [caller, line_in(inner, 2)]
        assert stack(tracer, 3 * turn + 2)[:-1] == [caller]
    assert tracer.log.site_of(LEAF) is None


def test_turns_of_a_loop(tracer: Tracer) -> None:
    tracer.start()
    outer()
    tracer.stop()
    header = line_in(outer, 2)
    turns = [edge for edge in tracer.log.edges if edge.line == header]
    assert len(turns) == 3 and len({edge.activation for edge in turns}) == 1


def test_generators_and_exceptions(tracer: Tracer) -> None:
    tracer.start()
    list(numbers())
    with pytest.raises(ValueError):
        failing()
    inner()
    tracer.stop()
    assert stack(tracer, 0)[-2] == line_in(numbers, 1)
    assert stack(tracer, 1)[-2] == line_in(numbers, 2)
    assert stack(tracer, 2)[-2] == line_in(failing, 1)
    assert stack(tracer, 3)[:-1] == [line_in(inner, 1)]  # nothing is left of what raised
    assert list(tracer.log.live) == []


def test_frames_that_run_already(tracer: Tracer) -> None:
    tracer.start(sys._getframe())
    node()
    outer()
    tracer.stop()
    here = test_frames_that_run_already
    assert stack(tracer, 0)[0] == line_in(here, 2)
    assert stack(tracer, 1)[:2] == [line_in(here, 3), line_in(outer, 3)]


def test_threads_have_logs_of_their_own(tracer: Tracer) -> None:
    tracer.start()
    thread = threading.Thread(target=outer)
    thread.start()
    thread.join()
    tracer.stop()
    own = tracer.log  # made at the first question
    other = [log for log in tracer.logs.values() if log is not own]
    assert len(other) == 1
    assert other[0].stack_of(0)[0][1].line == line_in(outer, 3)


def idle(turns: int) -> None:
    for _ in range(turns):
        pass


def test_loops_without_nodes_take_no_memory(
    tracer: Tracer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_EDGES", 8)
    tracer.start()
    idle(1000)
    position = tracer.log.seal()
    assert len(tracer.log.edges) < 8
    for _ in range(20):
        outer()
    tracer.stop()
    log = tracer.log
    assert len(log.edges) <= 8 and log.seal() > 50 > position
    assert len(log.edges_between(0, log.seal())) == len(log.edges)
    assert log.edges_between(0, position) == []


def test_turns_are_counted_though_forgotten(
    tracer: Tracer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_EDGES", 8)
    tracer.start()
    seen = []

    def loop() -> None:
        for turn in range(30):
            node()
            log = tracer.log
            step = log.here()[-1]
            header = step.line - 3
            seen.append((turn, log.turns_before(log.seal(), step.activation, header)))

    loop()
    tracer.stop()
    assert seen == [(turn, turn) for turn in range(30)]


def test_a_long_log_forgets_its_older_half(tracer: Tracer) -> None:
    tracer.start()
    outer()
    tracer.stop()
    log = tracer.log
    entries = len(log.numbers)
    log.forget_older_half()
    assert 0 < len(log.numbers) < entries
    assert log.site_of(0) is None and log.site_of(made[-1]) is not None
