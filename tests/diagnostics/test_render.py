"""Reports as text: widths, long and wide lines, several files, edits, colour."""

from __future__ import annotations

import io

import pytest

from retrograd.diagnostics.errors import make_error
from retrograd.diagnostics.render import display_path, render
from retrograd.diagnostics.report import Edit, Place, Report, Span, advice


def at(line: int, start: int, end: int, source: str, file: str = "train.py") -> Place:
    return Place(file, line, "", start, line, end, source)


def body(report: Report, width: int = 100) -> list[str]:
    return render(report, width=width).splitlines()


def test_worked_example() -> None:
    source = "    h = rg.tanh(x + h @ W)"
    report = Report(
        "RG101",
        "`h` still leads into a graph that was already freed",
        (
            Span("created here: tanh, node 3", at(11, 8, 26, source), order=1),
            Span("freed here: backward #1", at(13, 4, 19, "    loss.backward()"), order=2),
            Span("used again here: matmul, node 7", at(11, 20, 25, source), primary=True, order=3),
        ),
        why="`h` was carried from one pass of the loop into the next.",
        fixes=(
            advice(
                "detach the carried value",
                Edit.replacing("train.py", 11, source, {(21, 21): ".detach()"}),
            ),
        ),
        notes=("retain_graph=True keeps every earlier step in memory",),
    )
    assert render(report) == (
        "error[RG101]: `h` still leads into a graph that was already freed\n"
        "  --> train.py:11:21\n"
        "   |\n"
        "11 |     h = rg.tanh(x + h @ W)\n"
        "   |         ------------------ 1 created here: tanh, node 3\n"
        "...\n"
        "13 |     loss.backward()\n"
        "   |     --------------- 2 freed here: backward #1\n"
        "...\n"
        "11 |     h = rg.tanh(x + h @ W)\n"
        "   |                     ^^^^^ 3 used again here: matmul, node 7\n"
        "   |\n"
        "why: `h` was carried from one pass of the loop into the next.\n"
        "help: detach the carried value\n"
        "   |\n"
        "-  |     h = rg.tanh(x + h @ W)\n"
        "+  |     h = rg.tanh(x + h.detach() @ W)\n"
        "   |                      +++++++++\n"
        "note: retain_graph=True keeps every earlier step in memory\n"
        "more: python -m retrograd explain RG101"
    )


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_width_is_kept(width: int) -> None:
    words = "some words of a sentence that goes on for a while, " * 5
    source = "    result = " + " + ".join(f"term_{index}" for index in range(40))
    report = Report(
        "RG201",
        words,
        (
            Span(words, at(7, 250, 257, source), primary=True, order=1),
            Span(words, at(9, 4, 8, source), order=2),
        ),
        words,
        (advice(words),),
        (words,),
    )
    lines = body(report, width)
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)
    marked = next(line for line in lines if "^^^^^^^" in line)
    above = lines[lines.index(marked) - 1]
    start = marked.index("^")
    assert source[250:257] == above[start : start + 7]


def test_wide_characters_and_tabs() -> None:
    source = '\tlabel = f("日本", x)'
    report = Report("RG201", "t", (Span("here", at(1, 17, 18, source), primary=True),))
    line, marks = body(report)[3:5]
    assert line == ' 1 |     label = f("日本", x)'
    assert marks == "   |                       ^ here"


def test_neighbouring_lines_and_the_same_line() -> None:
    one, two = "a = f(b)", "c = g(a)"
    spans = (
        Span("first", at(1, 4, 8, one), order=1),
        Span("second", at(2, 4, 8, two), order=2),
        Span("third", at(2, 6, 7, two), primary=True, order=3),
    )
    assert body(Report("RG201", "t", spans))[2:-1] == [
        "   |",
        " 1 | a = f(b)",
        "   |     ---- 1 first",
        " 2 | c = g(a)",
        "   |     ---- 2 second",
        "   |       ^ 3 third",
        "   |",
    ]


def test_other_file_without_source() -> None:
    spans = (
        Span("here", at(3, 0, 1, "f()"), primary=True, order=1),
        Span("typed by hand", Place("<stdin>", 120), order=2),
    )
    assert body(Report("RG201", "t", spans))[1:-1] == [
        "   --> train.py:3:1",
        "    |",
        "  3 | f()",
        "    | ^ 1 here",
        "   ::: <stdin>:120",
        "    |",
        "120 |",
        "    | 2 typed by hand",
        "    |",
    ]


def test_span_of_several_lines_marks_the_first() -> None:
    place = Place("train.py", 4, "", 7, 6, 1, source="loss = model(")
    report = Report("RG201", "t", (Span("here", place, primary=True),))
    assert body(report)[3:5] == [" 4 | loss = model(", "   |        ^^^^^^ here"]


def test_edits() -> None:
    replaced = Edit.replacing("a.py", 1, "h += 1", {(0, 6): "h = h + 1"})
    inserted = Edit("a.py", 9, None, "    h = h.detach()")
    removed = Edit("a.py", 2, "loss.backward()", None)
    helps = (advice("replace", replaced), advice("insert", inserted), advice("remove", removed))
    assert body(Report("RG201", "t", fixes=helps))[1:-1] == [
        "help: replace",
        "  --> a.py:1",
        "   |",
        "-  | h += 1",
        "+  | h = h + 1",
        "   | ~~~~~~~~~",
        "help: insert",
        "  --> a.py:9",
        "   |",
        "+  |     h = h.detach()",
        "help: remove",
        "  --> a.py:2",
        "   |",
        "-  | loss.backward()",
    ]


def test_colour_is_asked_for_and_obeys_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report("RG201", "t", (Span("here", at(1, 0, 1, "x"), primary=True),), why="so")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = render(report, color=True)
    assert "\x1b[1;31merror[RG201]\x1b[0m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert render(report, color=True) == render(report)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_exceptions_have_colour_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def note(stream: io.StringIO) -> str:
        monkeypatch.setattr("sys.stderr", stream)
        error = make_error("index 5 is out of bounds for dimension 0 with size 3", IndexError)
        return "".join(error.__notes__)

    for name in ("NO_COLOR", "FORCE_COLOR", "RETROGRAD_REPORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[1;31merror[RG204]\x1b[0m" in note(Terminal())
    assert "\x1b" not in note(io.StringIO())
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" in note(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in note(Terminal())


@pytest.mark.parametrize("width", [40, 60, 80])
def test_long_changes_are_cut_around_what_is_new(width: int) -> None:
    source = "    total = " + " + ".join(f"weights[{n}] * losses[{n}]" for n in range(9))
    at = source.index("losses[5]") + len("losses[5]")
    edit = Edit.replacing("a.py", 7, source, {(at, at): ".item()"})
    lines = body(Report("RG201", "t", fixes=[advice("add", edit)]), width)
    removed, added, marks = lines[4:7]
    assert max(map(len, lines)) <= width
    assert removed.startswith("-  | ...") and added.endswith("...")
    start = marks.index("+")
    assert added[start : start + 7] == ".item()" and marks[start:] == "+" * 7


def test_paths_below_the_current_folder_are_relative(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    assert display_path(f"{tmp_path}/pkg/train.py") == "pkg/train.py"
    assert display_path("/elsewhere/train.py") == "/elsewhere/train.py"
    assert display_path("<ipython-input-1>") == "<ipython-input-1>"
