"""A graph that gets longer at every step is told once, with its line; others are quiet."""

import collections
import inspect
import os
import random
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd
from retrograd import graph
from retrograd.backend.memory import bytes_in_use
from retrograd.graph.growing import grown
from retrograd.watching.enlarged import _holds, _may_grow, _remembered
from retrograd.watching.heap import with_history
from tests import forked

State = dict[str, Any]


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> Any:
    return retrograd if request.param == "retrograd" else pytest.importorskip("torch")


class Program:
    """A small network, and what the steps need of it."""

    def __init__(self, torch: Any) -> None:
        torch.manual_seed(0)
        random.seed(0)
        self.torch = torch
        nn = torch.nn
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8))
        self.x = torch.randn(8, 8)

    def loss(self) -> Any:
        return (self.net(self.x) ** 2).mean()


# ---------------------------------------------------------------- leaks: each names its own line


def losses(p: Program, state: State, step: int) -> None:
    loss = p.loss()
    state.setdefault("losses", []).append(loss)  # here
    loss.backward()


def total(p: Program, state: State, step: int) -> None:
    loss = p.loss()
    state["total"] = state.get("total", 0) + loss  # here
    loss.backward()


def hidden(p: Program, state: State, step: int) -> None:
    h = p.net(state.get("h", p.x))  # here
    state["h"] = h
    (h**2).mean().backward(retain_graph=True)


def outputs(p: Program, state: State, step: int) -> None:
    state.setdefault("outputs", []).append(p.net(p.x))  # here
    p.loss().backward()


def average(p: Program, state: State, step: int) -> None:
    state["mean"] = p.net[0].weight * 0.1 + state.get("mean", 0) * 0.9  # here
    p.loss().backward()


def replay(p: Program, state: State, step: int) -> None:
    loss = p.loss()
    state.setdefault("replay", []).append((p.net(p.x), step))  # here
    loss.backward()


def cache(p: Program, state: State, step: int) -> None:
    x = p.torch.randn(2, 8)
    state["memory"] = p.torch.cat([state.get("memory", p.x), x])  # here
    p.net(state["memory"]).mean().backward()


def attended(p: Program, state: State, step: int) -> None:
    """What was computed is kept without its history, at the front of the second dimension."""
    key = p.net(p.x[:, None])
    state["keys"] = p.torch.cat([key, state.get("keys", key).detach()], dim=1)  # here
    (state["keys"] ** 2).mean().backward()


LEAKS = [losses, total, hidden, outputs, average, replay, cache, attended]
KINDS = dict.fromkeys(("total", "hidden", "average"), "carried")
KINDS |= dict.fromkeys(("cache", "attended"), "enlarged")


# ---------------------------------------------------------------- healthy


def plain(p: Program, state: State, step: int) -> None:
    p.loss().backward()


def accumulated(p: Program, state: State, step: int) -> None:
    for _ in range(4):
        (p.loss() / 4).backward()


def summed(p: Program, state: State, step: int) -> None:
    sum(p.loss() for _ in range(4)).backward()


def across(p: Program, state: State, step: int) -> None:
    state["total"] = state.get("total", 0) + p.loss()
    if step % 4 == 3:
        state.pop("total").backward()


def truncated(p: Program, state: State, step: int) -> None:
    state["h"] = p.net(state.get("h", p.x))
    if step % 5 == 4:
        (state["h"] ** 2).mean().backward()
        state["h"] = state["h"].detach()


def recent(p: Program, state: State, step: int) -> None:
    loss = p.loss()
    state.setdefault("recent", collections.deque(maxlen=10)).append(loss)
    loss.backward()


def long_window(p: Program, state: State, step: int) -> None:
    loss = p.loss()
    state.setdefault("recent", collections.deque(maxlen=1000)).append(loss)
    loss.backward()


def lengths(p: Program, state: State, step: int) -> None:
    x = p.x
    for _ in range(random.randint(1, 12)):
        x = p.net(x)
    (x**2).mean().backward()


def curriculum(p: Program, state: State, step: int) -> None:
    x = p.x
    for _ in range(1 + step // 4):
        x = p.net(x)
    (x**2).mean().backward()


def filled(p: Program, state: State, step: int) -> None:
    loss = p.loss()
    state.setdefault("window", []).append(p.net(p.x))
    del state["window"][:-30]
    loss.backward()


def numbers(p: Program, state: State, step: int) -> None:
    loss = p.loss()
    loss.backward()
    state.setdefault("losses", []).append(loss.item())
    state["total"] = state.get("total", 0) + loss.detach()


def cut_cache(p: Program, state: State, step: int) -> None:
    memory = p.torch.cat([state.get("memory", p.x), p.torch.randn(2, 8)])[-200:]
    state["memory"] = memory
    p.net(memory).mean().backward()


def window_of_values(p: Program, state: State, step: int) -> None:
    recent = state.setdefault("recent", collections.deque(maxlen=1000))
    recent.append(p.torch.randn(1, 8))
    p.net(p.torch.cat(list(recent))).mean().backward()


def filled_cache(p: Program, state: State, step: int) -> None:
    state["memory"] = p.torch.cat([state.get("memory", p.x), p.torch.randn(2, 8)])
    if len(state["memory"]) > 30:
        state["memory"] = state["memory"][2:]
    p.net(state["memory"]).mean().backward()


def longer_batches(p: Program, state: State, step: int) -> None:
    """Sorted by length: nodes stay, bytes rise at one pace, nothing is carried over."""
    x = p.torch.randn(step + 1, 8)
    x = p.torch.tanh(x)
    p.net(x).mean().backward()


def longer_positions(p: Program, state: State, step: int) -> None:
    """Each begins with the one before, but is made anew."""
    positions = p.torch.arange(8.0 * (step + 8)).reshape(-1, 8)
    p.net(positions).mean().backward()


HEALTHY = [
    *(cut_cache, window_of_values, filled_cache, longer_batches, longer_positions),
    *(plain, accumulated, summed, across, truncated, recent, long_window),
    *(lengths, curriculum, filled, numbers),
]


def run(torch: Any, body: Callable[[Program, State, int], None], steps: int) -> Any:
    program, state = Program(torch), {}
    with graph.watch_growth(engine=torch.__name__) as seen:
        for step in range(steps):
            body(program, state, step)
    return seen


def marked(body: Callable[..., None]) -> int:
    """The line with the mark."""
    lines, first = inspect.getsourcelines(body)
    return first + next(number for number, line in enumerate(lines) if "# here" in line)


@pytest.mark.parametrize("steps", [20, 70])
@pytest.mark.parametrize("body", LEAKS, ids=lambda body: body.__name__)
def test_a_leak_is_told_once_with_its_line(torch: Any, body: Any, steps: int) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen = run(torch, body, steps)
    growing = seen.growing
    assert growing is not None, seen.looks
    assert growing.kind == KINDS.get(body.__name__, "collected")
    assert growing.line is not None and growing.line.file == __file__
    assert growing.line.line == marked(body)
    path = str(growing.path)  # seen while the step runs, in which the state has another name
    assert path == "h" if body is hidden else path.startswith("state["), path
    assert growing.step == (64 if steps == 70 else 16) and growing.pace > 0
    (warning,) = [each for each in caught if getattr(each.message, "code", None) == "RG120"]
    assert (warning.filename, warning.lineno) == (__file__, marked(body))
    assert growing.to_json()["line"] == {"file": __file__, "line": marked(body)}


@pytest.mark.parametrize("body", HEALTHY, ids=lambda body: body.__name__)
def test_a_healthy_program_is_quiet(torch: Any, body: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = run(torch, body, 70)
    assert seen.growing is None and str(seen) == "nothing grows", seen.looks


def test_a_loop_whose_variables_are_gone_at_the_end(torch: Any) -> None:
    def train() -> None:
        program, kept = Program(torch), []
        for _ in range(10):
            loss = program.loss()
            kept.append(loss)  # here
            loss.backward()

    with graph.watch_growth(engine=torch.__name__, warn=False) as seen:
        train()
    assert seen.growing is not None and seen.growing.path == "kept[8]"
    assert seen.growing.line is not None and seen.growing.line.line == marked(train)


def test_saved_bytes_of_what_is_held(torch: Any) -> None:
    """Graphs that no backward has freed keep their arrays: two tanh outputs of 8 x 16 per step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen = run(torch, outputs, 20)
    assert seen.growing is not None
    assert seen.growing.bytes == 15 * 8 * 16 * 4


def test_a_parameter_without_a_size_yet_is_passed_over(torch: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's lazy modules say that they are new
        waiting = torch.nn.LazyLinear(3)
        seen = run(torch, cache, 20)
    assert seen.growing is not None and waiting.weight is not None


def test_a_cache_is_told_with_its_bytes(torch: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen = run(torch, cache, 20)
    growing = seen.growing
    # of 8 + 2 * 16 rows: the memory, and the result of tanh
    rows = 8 + 2 * growing.step
    assert (growing.nodes, growing.bytes) == (0, 4 * rows * (8 + 16))
    assert growing.pace == 4 * 2 * (8 + 16)
    assert seen.saved[-1] == (growing.step, growing.bytes)
    assert "gets larger" in str(seen)
    (report,) = [getattr(each.message, "report", None) for each in caught]
    assert report.fixes[0].text == "cut it to what the step needs: state['memory'][-n:]"


@settings(max_examples=25, deadline=None)
@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    dim=st.integers(0, 2),
    more=st.integers(1, 5),
    front=st.booleans(),
    other=st.booleans(),
)
def test_what_holds_the_value_of_before(
    shape: list[int], dim: int, more: int, front: bool, other: bool
) -> None:
    dim %= len(shape)
    before = retrograd.randn(*shape)
    added = retrograd.randn(*shape[:dim], more, *shape[dim + 1 :])
    kept = before + 1 if other else before
    now = retrograd.cat([added, kept] if front else [kept, added], dim)
    remembered = _remembered(before)
    expected = not other and remembered.first != remembered.last
    assert _holds(now, remembered) is expected


def test_nothing_stays_behind(torch: Any) -> None:
    import gc
    import weakref

    program, state = Program(torch), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with graph.watch_growth(engine=torch.__name__):
            for step in range(20):
                losses(program, state, step)
    alive = weakref.ref(state["losses"][3])
    state.clear()
    gc.collect()
    assert alive() is None
    assert gc.get_freeze_count() < 2000  # Python 3.12 keeps some immortal objects there


PROGRAM = """
import warnings
import retrograd as torch
from retrograd.engine import growth
growth.SECONDS = 0.0
w = torch.ones(3, requires_grad=True)
kept, total = [], 0
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for step in range(1100):
        loss = (w * w).sum()
        {line}
        loss.backward()
for each in caught:
    report = each.message.report
    print(each.message.code, each.lineno, report.cause, report.facts["kind"])
"""


@pytest.mark.parametrize("core", ["0", "1"])
@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("kept.append(loss)", "RG120 12 accumulated-history collected\n"),
        ("total = total + loss", "RG120 12 accumulated-history carried\n"),
        ("kept.append(loss.item())", ""),
        ("kept.append([loss.item() for _ in range(9)])", ""),  # blocks rise, graphs do not
        ("kept = [*kept[-20:], loss]", ""),
    ],
)
def test_retrograd_notices_by_default(line: str, printed: str, core: str) -> None:
    assert default_run(line, {"RETROGRAD_CORE": core}) == printed


CACHE = """
import warnings
import retrograd as torch
from retrograd.engine import growth
growth.SECONDS = 0.0
w = torch.randn(16, 16, requires_grad=True)
memory = torch.randn(8, 16)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for step in range(1100):
        x = torch.randn(64, 16)
        {line}
        loss = torch.tanh(memory @ w).sum()
        loss.backward()
for each in caught:
    report = each.message.report
    print(each.message.code, each.lineno, report.facts["kind"], report.fixes[0].text)
"""


@pytest.mark.skipif(not bytes_in_use(), reason="the C library does not tell what is in use")
@pytest.mark.parametrize("core", ["0", "1"])
@pytest.mark.parametrize(
    ("line", "printed"),
    [
        (
            "memory = torch.cat([memory, x])",
            "RG120 12 enlarged cut it to what the step needs: memory[-n:]\n",
        ),
        ("memory = torch.cat([memory, x])[-4096:]", ""),  # at call 64, a window
        ("memory = torch.randn(64 * step + 8, 16)", ""),  # longer, and not what was there
        ("kept = torch.cat([kept, x]) if step else x; memory = x", ""),  # no graph saves it
    ],
)
def test_retrograd_notices_a_cache_by_default(line: str, printed: str, core: str) -> None:
    assert run_program(CACHE.format(line=line), {"RETROGRAD_CORE": core}) == printed


def test_the_environment_turns_it_off() -> None:
    assert default_run("kept.append(loss)", {"RETROGRAD_GROWTH": "0"}) == ""


def test_a_warning_that_is_an_error_leaves_backward_usable() -> None:
    program = PROGRAM.format(line="kept.append(loss)").replace('"always"', '"error"')
    program = program.replace("        loss.backward()", TRIED)
    # at the third look; one later where what importing left was collected before the second
    assert run_program(program, {}) in ("UserWarning 256\n", "UserWarning 512\n")


TRIED = """
        try:
            loss.backward()
        except Warning as warning:
            print(type(warning).__name__, step + 1)
"""


def default_run(line: str, environment: dict[str, str]) -> str:
    return run_program(PROGRAM.format(line=line), environment)


def run_program(text: str, environment: dict[str, str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "program.py")
        script.write_text(text)
        variables = {**os.environ, "RETROGRAD_GROWTH": "1", **environment}
        done = forked.python([str(script)], environment=variables)
    done.check_returncode()
    return done.stdout


def test_a_view_that_cannot_follow_a_write_is_no_part_of_a_pile() -> None:
    """Somebody's broken view is not the business of other backward calls."""
    base = retrograd.ones(2, 2, requires_grad=True) * 1
    row = base.unbind()[0]
    base.mul_(2)
    with pytest.raises(RuntimeError, match="is a view"):
        row.grad_fn  # noqa: B018
    assert [tensor is base for tensor in with_history([row, base])] == [True]
    assert not grown(ordinal=10**6, first=0, since=0, before=10**9, calls=10**6)
    assert not _may_grow(row)
