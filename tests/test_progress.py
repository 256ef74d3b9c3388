"""torch.progress: what is shown where, and that loops are not disturbed. Time is set by hand."""

from __future__ import annotations

import gc
import io
import os
import pty
import re
import subprocess
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
import retrograd.progress_bar as MODULE
from retrograd.utils.data import DataLoader, IterableDataset, TensorDataset


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(MODULE, "_now", made)
    return made


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return Terminal()


HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


def test_items_come_as_they_are() -> None:
    items = [object(), torch.ones(2), None]
    for got, given in zip(torch.progress(items), items, strict=True):
        assert got is given
    assert list(torch.progress(x for x in "abc")) == ["a", "b", "c"]
    assert list(torch.progress([])) == []
    assert dict(torch.progress({"a": 1}.items())) == {"a": 1}


def test_length() -> None:
    assert len(torch.progress([1, 2, 3])) == 3
    assert len(torch.progress(iter([1]), total=7)) == 7
    with pytest.raises(TypeError, match=r"object of type 'generator' has no len\(\)"):
        len(torch.progress(x for x in ()))
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        torch.progress(3)  # type: ignore[arg-type]


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter([torch.ones(1)] * 3)


def test_data_loaders() -> None:
    bar = torch.progress(DataLoader(TensorDataset(torch.arange(5)), batch_size=2))
    assert [batch[0].tolist() for batch in bar] == [[0, 1], [2, 3], [4]]
    assert bar.text(30).startswith("3/3")
    stream = torch.progress(DataLoader(Stream(), batch_size=2))
    assert [len(batch) for batch in stream] == [2, 1]
    assert stream.text(30).startswith("2 ")


def test_rate_and_time(clock: Clock) -> None:
    bar = torch.progress(range(10), description="train")
    seen = []
    for _ in bar:
        seen.append(bar.text(40))
        clock.now += 0.5
    assert seen[0] == "train ─────────────────── 0/10 0% - 0:00"
    assert seen[4] == "train 4/10 40% 2.0/s 0:03 left"
    assert bar.text(40) == "train ━━━━━━━━━━━━ 10/10 100% 2.0/s 0:05"
    clock.now += 50
    assert bar.seconds == 5.0
    slow = torch.progress(iter(range(3)))
    for _ in slow:
        clock.now += 4000
    assert slow.text() == "3 4000.0 s/step 3:20:00"


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (70, "a long name ━━━━━━━──────── 1/2 50% 1.0/s 0:01 left loss 0.5, lr 0.001"),
        (57, "a long name 1/2 50% 1.0/s 0:01 left loss 0.5, lr 0.001"),
        (50, "a long name 1/2 1.0/s 0:01 left loss 0.5, lr 0.001"),
        (30, "1/2 loss 0.5, lr 0.001"),
        (10, "1/2"),
        (2, "1/"),
    ],
)
def test_narrow_lines(clock: Clock, width: int, expected: str) -> None:
    bar = torch.progress(range(2), description="a long name")
    steps = iter(bar)
    next(steps)
    bar.set(loss=0.5, lr=1e-3)
    clock.now += 1
    next(steps)
    assert bar.text(width) == expected


@pytest.mark.parametrize(
    ("value", "shown", "text"),
    [
        (torch.tensor(0.123456), pytest.approx(0.123456), "0.1235"),
        (torch.tensor([2]), 2, "2"),
        (torch.tensor(1.5, dtype=torch.bfloat16), 1.5, "1.5"),
        (torch.tensor(True), True, "True"),
        (np.float32(0.25), 0.25, "0.25"),
        (3, 3, "3"),
        (123456.789, 123456.789, "1.235e+05"),
        (float("nan"), pytest.approx(float("nan"), nan_ok=True), "nan"),
        ("warm", "warm", "warm"),
    ],
)
def test_values(value: Any, shown: Any, text: str) -> None:
    bar = torch.progress([])
    bar.show(x=value)
    assert bar.values == {"x": shown}
    assert bar.text().endswith(f"x {text}")


def test_only_single_numbers() -> None:
    bar = torch.progress([])
    with pytest.raises(ValueError, match=r"loss has 3 elements: pass loss.mean\(\)"):
        bar.set(loss=torch.ones(3))


def test_values_do_not_keep_graphs() -> None:
    weight = torch.ones(3, requires_grad=True)
    bar = torch.progress([])
    loss = (weight * 2).sum()
    node = weakref.ref(loss.grad_fn)
    bar.set(loss=loss)
    gc.disable()
    try:
        del loss
        assert node() is None
    finally:
        gc.enable()
    assert bar.values == {"loss": 6.0}


def test_values_are_read_when_shown(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Any] = []
    monkeypatch.setattr(MODULE, "_value_text", lambda value: reads.append(value) or "")
    bar = torch.progress(range(1000), show=True, file=io.StringIO())
    for step in bar:
        bar.set(loss=torch.tensor(float(step)))
        clock.now += 0.1
    # a line each ten seconds, and the last
    assert 9 <= len(reads) <= 11 and reads[-1] == 999.0


def test_pipes_get_nothing_unless_asked(clock: Clock) -> None:
    file = io.StringIO()
    for _ in torch.progress(range(3), file=file):
        clock.now += 60
    assert file.getvalue() == ""
    for _ in torch.progress(range(3), description="run", file=file, show=True):
        clock.now += 6
    lines = file.getvalue().splitlines()
    assert [line.split()[2:] for line in lines] == [
        ["2/3", "66%", "6.0", "s/step", "0:06", "left"],
        ["3/3", "100%", "6.0", "s/step", "0:18"],
    ]
    assert "\x1b" not in file.getvalue() and "\r" not in file.getvalue()


def test_nested_loops_in_a_pipe(clock: Clock) -> None:
    file = io.StringIO()
    for _ in torch.progress(range(2), description="epoch", file=file, show=True):
        for _ in torch.progress(range(2), description="step", file=file, show=True):
            clock.now += 1
    lines = file.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("epoch 1/2 0:00 left  step") and "2/2 100%" in lines[1]
    assert lines[2].startswith("epoch") and lines[2].endswith("2/2 100% 2.0 s/step 0:04")


def test_a_terminal(clock: Clock, terminal: Terminal) -> None:
    before = sys.stdout, sys.stderr
    bar = torch.progress(range(3), description="run", file=terminal)
    for _ in bar:
        clock.now += 1
        bar.set(loss=0.5)
    text = terminal.getvalue()
    assert text.startswith(HIDE) and text.endswith(SHOW)
    assert "2/3 66% 1.0/s 0:01 left loss 0.5" in text
    assert text.rstrip(SHOW).rstrip().endswith("3/3 100% 1.0/s 0:03 loss 0.5")
    assert (sys.stdout, sys.stderr) == before


def test_nested_loops_on_a_terminal(clock: Clock, terminal: Terminal) -> None:
    for _ in torch.progress(range(2), description="epoch", file=terminal):
        for _ in torch.progress(range(2), description="step", file=terminal):
            clock.now += 1
    text = terminal.getvalue()
    assert text.count(HIDE) == text.count(SHOW) == 1
    drawn = text.split("\x1b[2K")
    # two lines are drawn together, the outer loop's first
    assert any(re.search(r"epoch.*\nstep", part) for part in drawn)
    assert "step " not in drawn[-1].replace("s/step", "") and "2/2 100%" in drawn[-1]


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, GeneratorExit])
def test_an_error_gives_the_terminal_back(
    clock: Clock, terminal: Terminal, error: type[BaseException]
) -> None:
    before = sys.stdout, sys.stderr
    bar = torch.progress(range(5), file=terminal)
    with pytest.raises(error):
        for step in bar:
            clock.now += 1
            if step == 2:
                raise error
    assert terminal.getvalue().endswith(SHOW)
    assert (sys.stdout, sys.stderr) == before
    assert bar.steps == 2 and MODULE._SCREENS.screen(terminal, None).bars == []


def test_break_and_errors_of_the_iterable(clock: Clock, terminal: Terminal) -> None:
    for _ in torch.progress(range(5), file=terminal):
        break
    assert terminal.getvalue().endswith(SHOW)

    def failing() -> Iterator[int]:
        yield 1
        raise OSError("the data is gone")

    with pytest.raises(OSError, match="gone"):
        list(torch.progress(failing(), file=terminal))
    assert terminal.getvalue().endswith(SHOW)
    assert terminal.getvalue().count(HIDE) == terminal.getvalue().count(SHOW) == 2


def test_what_a_program_prints_is_above_the_line(
    clock: Clock, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", terminal)
    for _ in torch.progress(range(2), description="run", file=terminal):
        clock.now += 1
        print("hello")
    assert "\x1b[2Khello\n" in terminal.getvalue()


def test_a_notebook(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    file = io.StringIO()
    for _ in torch.progress(range(2), description="epoch", file=file):
        for _ in torch.progress(range(2), description="step", file=file):
            clock.now += 1
    text = file.getvalue()
    assert text.count("\n") == 1 and text.rstrip().endswith("0:04") and "\x1b" not in text
    assert any("epoch" in part and "step" in part for part in text.split("\r"))


def test_a_stream_that_is_closed_does_not_end_the_loop(clock: Clock) -> None:
    file = io.StringIO()
    seen = 0
    for _ in torch.progress(range(5), file=file, show=True):
        clock.now += 20
        seen += 1
        file.close()
    assert seen == 5


def test_terminals_without_special_characters(clock: Clock, terminal: Terminal) -> None:
    terminal.encoding = "ascii"
    for _ in torch.progress(range(2), file=terminal):
        clock.now += 1
    assert "####" in terminal.getvalue() and "━" not in terminal.getvalue()


def test_a_bar_runs_again() -> None:
    bar = torch.progress([1, 2])
    assert [list(bar), bar.steps, list(bar), bar.steps] == [[1, 2], 2, [1, 2], 2]


def test_a_real_terminal_is_given_back_after_an_uncaught_error() -> None:
    program = (
        "import retrograd as torch\n"
        "def train():\n"
        "    for step in torch.progress(range(3)):\n"
        "        raise KeyError(step)\n"
        "train()\n"
    )
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": os.getcwd()}
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=follower, stderr=follower, env=environment
    )
    os.close(follower)
    text = b""
    try:
        while piece := os.read(leader, 4096):
            text += piece
    except OSError:
        pass  # the other side is closed
    finally:
        os.close(leader)
    assert process.wait() == 1
    assert text.count(HIDE.encode()) == text.count(SHOW.encode()) == 1
    assert text.index(SHOW.encode()) < text.index(b"KeyError")
