"""The report for people and programs: what it says, how wide it is, what it escapes."""

import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

import retrograd
from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor import rules
from retrograd.doctor.fixes.edits import propose
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.report import html, json_form, terminal
from retrograd.doctor.result import Result, result_from
from retrograd.watching.files import as_json, write_atomically

FILE = "/programs/train <b>&co.py"


def example() -> Result:
    """A finding with all there can be."""
    made, freed = Place(FILE, 17, "forward"), Place(FILE, 40, "fit")
    used = freed
    first, second = (f"iteration {number} of the loop in line 36" for number in (1, 2))
    result = Result(script=FILE, engine="torch", status=1, error="RuntimeError: twice <x>")
    result.diagnoses = [
        Diagnosis(
            cause="stale-state-carried",
            title="`hidden` is carried into the next iteration with its history",
            why="`hidden` was computed before & its graph is freed.",
            error_line=used,
            created_at=[made],
            freed_at=freed,
            fixes=[
                Fix(
                    "detach",
                    Place(FILE, 38, "fit"),
                    "the next pass needs only its numbers",
                    "gradients stop here",
                    "--- a\n+++ b\n@@ -1 +1 @@\n-y = net(h)\n+y = net(h.detach())\n",
                    True,
                    "ran to the end; 8 of 8 parameters get gradients",
                ),
                Fix("reset-state", Place(FILE, 38), verified=False, verification="tried: in vain"),
            ],
            spans=[
                Span("created", made, [Place(FILE, 50), made], first),
                Span("freed", freed, [freed], first),
                Span("used again", used, [used], second),
            ],
            error="RuntimeError: twice",
            tensor="hidden",
            why_not_retain="the graph would grow",
            notes=["a note"],
            facts={"nodes": 3},
        )
    ]
    result.unseen = ["what a thread did"]
    texts = {17: "        y, hidden = self.rnn(x, hidden)  # <script>", 40: "    loss.backward()"}
    result.keep_texts(lambda file, line: texts.get(line, ""))
    return result


def test_the_story_in_order() -> None:
    text = terminal.render(example(), width=100)
    order = [
        "error[stale-state-carried]: `hidden` is carried",
        "1 created here: iteration 1 of the loop in line 36",
        "2 freed here: iteration 1",
        "3 used again here: iteration 2",
        "place 1: called in line 50",
        "why: `hidden` was computed before",
        "fix 1: detach: the next pass needs only its numbers",
        "-  | y = net(h)",
        "+  | y = net(h.detach())",
        "   |          +++++++++",
        "cost: gradients stop here",
        "tried: ran to the end; 8 of 8",
        "fix 2: reset-state",
        "tried: in vain",
        "not retain_graph=True: the graph would grow",
        "note: a note",
        "retrograd doctor: 1 finding (torch)",
        "not seen: what a thread did",
    ]
    positions = [text.find(piece) for piece in order]
    assert -1 not in positions, order[positions.index(-1)]
    assert positions == sorted(positions)
    assert "@@" not in text and "+++ b" not in text
    assert (
        "@@" not in text
        and "\x1b" not in text
        and all(line == line.rstrip() for line in text.splitlines())
    )


@pytest.mark.parametrize("width", [40, 60, 100])
def test_width(width: int) -> None:
    result = example()
    for diagnosis in result.diagnoses:
        diagnosis.why = "a long reason in many short words " * 8
    for line in terminal.render(result, width=width).splitlines():
        assert len(line) <= width or " " not in line.strip()[: len(line) - width] or "-->" in line


def test_colour_only_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    plain, coloured = io.StringIO(), Terminal()
    terminal.show(example(), plain)
    terminal.show(example(), coloured)
    assert "\x1b[" not in plain.getvalue() and "\x1b[" in coloured.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    terminal.show(example(), plain)
    assert "\x1b[" not in plain.getvalue()


def test_a_stream_that_knows_ascii_only() -> None:
    result = Result(script="x", unseen=["é"])
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    terminal.show(result, stream)
    stream.seek(0)
    assert "\\xe9" in stream.read()


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (Result(engine="torch"), "no autograd mistake seen (torch)"),
        (Result(status=3), "ended with status 3"),
        (Result(status=1, error="KeyError: 'a'"), "the program failed"),
        (Result(status=130, error="KeyboardInterrupt: "), "interrupted"),
    ],
)
def test_nothing_found(result: Result, words: str) -> None:
    assert words in " ".join(terminal.render(result, width=100).split())


def test_the_result_survives_json() -> None:
    result = example()
    again = result_from(json.loads(as_json(result.to_data())))
    assert again == result


def test_the_document() -> None:
    document = json_form.document(example())
    assert (document["version"], document["status"]) == (1, "diagnosed")
    found = document["diagnoses"][0]
    assert found["category"] == "stale-state-carried"
    assert found["fix"] == {"kind": "detach", "file": FILE, "line": 38}
    relative = Result(diagnoses=[Diagnosis(cause="non-scalar", error_line=Place("a.py", 3))])
    file = json_form.document(relative)["diagnoses"][0]["error_line"]["file"]
    assert file == str(Path("a.py").absolute())


class Outline(HTMLParser):
    """The tags of a page, and whether each that opens closes."""

    VOID = ("meta", "br", "input", "path", "circle")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.mark.parametrize("make", [html.page, html.fragment])
def test_the_page(make: Callable[[Result], str]) -> None:
    page = make(example())
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert not outline.seen & {"link", "img", "iframe"}  # nothing to load, nothing injected
    assert not re.search(r"""(src|href)=["'](?!#)|url\(|@import""", page)
    assert "&lt;script&gt;" in page and "train &lt;b&gt;&amp;co.py" in page
    assert "<code>hidden</code>" in page and "y = net(h.detach())" in page
    assert "✓ tried" in page and "✕ tried" in page and "the graph would grow" in page


def test_a_report_in_a_notebook_needs_no_script() -> None:
    text = html.fragment(example())
    outline = Outline()
    outline.feed(text)
    assert "script" not in outline.seen
    assert "prefers-color-scheme: dark" in text.replace(":dark", ": dark")
    rules = re.sub(r"@media[^{]*", "", text.partition("<style>")[2].partition("</style>")[0])
    selectors = [one for each in re.findall(r"([^{}]+)\{", rules) for one in each.split(",")]
    assert all(".retrograd-report" in selector for selector in selectors)  # nothing else changes


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "before" and [p.name for p in tmp_path.iterdir()] == ["report.json"]
    write_atomically(path, "after")
    assert path.read_text() == "after"


@pytest.mark.parametrize(
    ("kinds", "left", "refused"),
    [
        (["detach", "retain-graph"], ["detach"], True),
        (["retain-graph", "detach"], ["retain-graph", "detach"], False),
        (["detach"], ["detach"], True),
    ],
)
def test_retaining_is_offered_or_refused(kinds: list[str], left: list[str], refused: bool) -> None:
    fixes = [Fix(kind, Place(FILE, 1)) for kind in kinds]
    diagnosis = Diagnosis(cause="shared-subgraph", fixes=fixes, why_not_retain="it would not help")
    rules._decide_about_retaining(diagnosis)
    assert [fix.kind for fix in diagnosis.fixes] == left
    assert bool(diagnosis.why_not_retain) == refused


def test_one_diff_is_offered_once(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("first.backward()\nsecond.backward()\n")
    places = [Place(str(program), line) for line in (1, 1, 2)]
    diagnosis = Diagnosis(
        cause="shared-subgraph", fixes=[Fix("retain-graph", place) for place in places]
    )
    propose(diagnosis)
    assert [fix.place.line for fix in diagnosis.fixes] == [1, 2]


def test_an_error_of_the_library_in_a_notebook() -> None:
    """The same design: places with their source, the fix, the page to read on; no verdict."""
    weight = retrograd.ones(3, requires_grad=True)
    hidden = retrograd.tanh(weight)
    hidden.sum().backward()
    with pytest.raises(RuntimeError) as caught:
        (hidden * 2).sum().backward()
    page = getattr(caught.value, "report")._repr_html_()  # noqa: B009 (mypy: RuntimeError)
    assert 'class="retrograd-report"' in page and "RG101" in page
    assert '<li class="created"' in page and '<li class="freed"' in page
    assert "hidden = retrograd.tanh(weight)" in page and "explain RG101" in page
    assert "tried" not in page.rsplit("</style>", 1)[1]
