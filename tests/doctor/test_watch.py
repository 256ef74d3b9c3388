"""`with retrograd.doctor.watch() as report`, on retrograd and on PyTorch."""

import os
import sys
import threading
from typing import Any

import pytest

import retrograd
import retrograd.doctor
from retrograd.autograd import api
from retrograd.doctor import session
from retrograd.doctor.library import Report, watch
from retrograd.doctor.rules import second_backward
from retrograd.watching.gradients import Gradients
from tests.doctor.pages import Page


@pytest.fixture(params=["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request: pytest.FixtureRequest) -> Any:
    return retrograd if request.param == "retrograd" else pytest.importorskip("torch")


def carried(torch: Any, steps: int) -> None:
    """A recurrent state that keeps its history."""
    weight = torch.ones(3, 3, requires_grad=True)
    state = torch.zeros(1, 3)
    for _ in range(steps):
        state = torch.tanh(state @ weight + 1)
        state.sum().backward()


def watched(torch: Any, steps: int) -> Report:
    watcher = watch(engine=torch.__name__)
    try:
        with watcher as report:
            carried(torch, steps)
    except RuntimeError as error:
        assert steps > 1 and "second time" in str(error)
        frames = []
        trace = error.__traceback__
        while trace is not None:
            frames.append(trace.tb_frame.f_code.co_filename)
            trace = trace.tb_next
        assert not any("/watching/" in file for file in frames)
    return report


def test_an_error_in_the_block(torch: Any) -> None:
    report = watched(torch, 3)
    found = report.diagnoses[0]
    assert found.cause == "stale-state-carried" and found.tensor == "state"
    first = carried.__code__.co_firstlineno
    assert found.error_line is not None and found.error_line.line == first + 6
    assert first + 5 in [place.line for place in found.created_at]
    assert report.to_json()["diagnoses"][0]["category"] == found.cause
    assert "state = torch.tanh" in str(report) and "stale-state-carried" in report.to_html()


def test_the_page_of_a_block_has_its_graph_if_asked(torch: Any) -> None:
    watcher = watch(engine=torch.__name__, graph=True)
    with pytest.raises(RuntimeError, match="second time"), watcher as report:
        carried(torch, 3)
    page = Page(report.to_html())
    assert [link.label for link in page.links] == ["created", "freed", "used again"]
    again = page.node(page.links[2].nodes[0])
    assert again["freed_by"] == 1 and again["line"] == carried.__code__.co_firstlineno + 5
    plain = Page(watched(torch, 3).to_html())
    assert plain.recordings == [] and "watch(graph=True) records it" in plain.said
    assert "<script" not in report._repr_html_() and "stale-state-carried" in report._repr_html_()


def test_a_healthy_block(torch: Any) -> None:
    report = watched(torch, 1)
    assert report.diagnoses == [] and "no autograd mistake" in str(report)


def test_lines_of_functions_that_run_already(torch: Any) -> None:
    weight = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError), watch(engine=torch.__name__) as report:
        loss = (weight * weight).sum()
        loss.backward()
        loss.backward()
    found = report.diagnoses[0]
    here = test_lines_of_functions_that_run_already.__code__
    assert found.cause == "same-loss-twice"
    assert found.error_line is not None and found.error_line.file == __file__
    assert found.freed_at is not None
    assert found.freed_at.line == found.error_line.line - 1 > here.co_firstlineno


def test_everything_is_taken_away_again(torch: Any) -> None:
    before = (
        *(sys.gettrace(), threading.gettrace(), api.run_backward, api._root_edges),
        *(torch.no_grad.__enter__, torch.optim.Optimizer.zero_grad, torch.optim.Optimizer.__init__),
    )
    engine = getattr(torch.autograd, "_engine_run_backward", None)
    watched(torch, 3)
    assert before == (
        *(sys.gettrace(), threading.gettrace(), api.run_backward, api._root_edges),
        *(torch.no_grad.__enter__, torch.optim.Optimizer.zero_grad, torch.optim.Optimizer.__init__),
    )
    assert engine is getattr(torch.autograd, "_engine_run_backward", None)
    assert session.current() is None


def test_blocks_do_not_nest() -> None:
    with watch(engine="retrograd"):
        with pytest.raises(RuntimeError, match="already watching"), watch(engine="retrograd"):
            pass
        assert session.current() is not None
    assert watched(retrograd, 3).diagnoses  # and the next one works


def test_a_thread_of_the_block() -> None:
    errors = []

    def work() -> None:
        try:
            carried(retrograd, 3)
        except RuntimeError as error:
            errors.append(error)

    with watch(engine="retrograd") as report:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert errors and "caught" in report.unseen[0]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring runs beside a tracer")
def test_a_debugger_keeps_its_trace_function() -> None:
    lines = []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        lines.append(event)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        report = watched(retrograd, 3)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)
    assert len(lines) > 10
    assert "another trace function is active" in " ".join(report.unseen)
    assert "the doctor failed" not in " ".join(report.unseen)


def test_a_mistake_of_the_doctor_is_not_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(Gradients, "before_backward", broken)
    weight = retrograd.ones(3, requires_grad=True)
    with watch(engine="retrograd") as report:
        (weight * weight).sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [2.0, 2.0, 2.0]
    assert "the doctor failed here: KeyError: 'oops'" in report.unseen[0]


def test_a_rule_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(watched: Any) -> None:
        raise ValueError("wrong turn")

    monkeypatch.setattr(second_backward, "diagnose", broken)
    report = watched(retrograd, 3)
    assert "the doctor failed here: ValueError: wrong turn" in " ".join(report.unseen)


def test_the_engine_is_checked() -> None:
    with pytest.raises(ValueError, match="'jax'"):
        watch(engine="jax")


def test_public_names() -> None:
    assert retrograd.doctor.watch is watch and retrograd.doctor.Report is Report
    with pytest.raises(AttributeError, match="nonsense"):
        _ = retrograd.doctor.nonsense


class Shell:
    """As much of IPython as the extension uses."""

    def __init__(self) -> None:
        self.magics: dict[str, Any] = {}
        self.space = {"torch": retrograd}
        self.shown: list[dict[str, str]] = []
        self.printed: list[str] = []
        self.display_pub = self

    def register_magic_function(self, function: Any, magic_kind: str, magic_name: str) -> None:
        assert magic_kind == "cell"
        self.magics[magic_name] = function

    def run_cell(self, cell: str) -> Any:
        class Done:
            error_in_exec: BaseException | None = None
            error_before_exec = None

        import linecache

        name = "<ipython-input-1-abc>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
        try:
            exec(compile(cell, name, "exec"), self.space)
        except Exception as error:
            Done.error_in_exec = error
            self.showtraceback()
        return Done

    def showtraceback(self) -> None:
        import traceback

        self.printed.append(traceback.format_exc())

    def publish(self, data: dict[str, str]) -> None:
        self.shown.append(data)


def test_a_cell_of_a_notebook() -> None:
    shell = Shell()
    retrograd.doctor.load_ipython_extension(shell)
    cell = "w = torch.ones(2, requires_grad=True)\nl = (w * w).sum()\nl.backward()\nl.backward()\n"
    shell.magics["doctor"]("retrograd", cell)
    (shown,) = shell.shown
    assert "error[same-loss-twice]" in shown["text/plain"]
    assert "-  | l.backward()" in shown["text/plain"]  # a diff: a cell is a file too
    assert "same-loss-twice" in shown["text/html"] and "<" in shown["text/html"]
    (printed,) = shell.printed
    assert "l.backward()" in printed and f"{os.sep}watching{os.sep}" not in printed


def test_a_healthy_cell_says_nothing() -> None:
    shell = Shell()
    retrograd.doctor.load_ipython_extension(shell)
    shell.magics["doctor"](
        "retrograd", "w = torch.ones(2, requires_grad=True)\n(w * w).sum().backward()"
    )
    assert shell.shown == [] and shell.printed == []
