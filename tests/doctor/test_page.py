"""The report as a page: its places lead to the right nodes at the right time, in both libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrograd.doctor.report import html
from retrograd.doctor.result import Result
from tests.doctor.in_forks import examine
from tests.doctor.pages import CARRIED, COLLECTED, INPLACE, Page, report_page
from tests.doctor.running import HEALTHY, doctor

ENGINES = ["retrograd", pytest.param("torch", marks=pytest.mark.torch)]
engines = pytest.mark.parametrize("engine", ENGINES)


def made(tmp_path: Path, text: str, engine: str) -> Page:
    if engine == "torch":
        pytest.importorskip("torch")
    return Page(report_page(tmp_path, text, "--no-verify", engine=engine))


@engines
def test_a_carried_state(tmp_path: Path, engine: str) -> None:
    page = made(tmp_path, CARRIED, engine)
    assert [link.label for link in page.links] == ["created", "freed", "used again"]
    created, freed, again = page.links
    first = page.node(created.nodes[0])
    assert (first["name"], first["line"]) == ("TanhBackward0", 15)
    assert created.nodes[0] == freed.nodes[0] == again.nodes[0]
    calls = page.recordings[0]["calls"]
    assert first["born"] <= created.time < calls[0]["start"]
    assert freed.time == calls[0]["end"] and first["freed_by"] == calls[0]["number"]
    assert again.time == calls[1]["end"] and calls[1]["failure"][1] == again.nodes[0]
    # the link between the two graphs: a node of the second step that uses one of the first
    user = page.node(again.nodes[1])
    assert first["born"] < calls[0]["end"] < user["born"] and again.nodes[0] in user["edges"]
    assert "stale-state-carried" in page.said
    assert "hidden = torch.tanh(self.inside(x) + self.carry(hidden))" in page.said


@engines
def test_a_value_written_in_place(tmp_path: Path, engine: str) -> None:
    page = made(tmp_path, INPLACE, engine)
    assert [link.label for link in page.links] == ["saved", "written", "needed"]
    saved, written, needed = page.links
    assert [page.node(link.nodes[0])["name"] for link in page.links] == [
        "SigmoidBackward0",
        "AddBackward0",
        "SigmoidBackward0",
    ]
    assert saved.time < page.node(written.nodes[0])["born"] == written.time < needed.time
    assert needed.time == page.recordings[0]["calls"][0]["end"]


@engines
def test_what_is_collected_silently(tmp_path: Path, engine: str) -> None:
    page = made(tmp_path, COLLECTED, engine)
    kept, created = page.links
    assert (kept.label, created.label) == ("kept", "created")
    assert len(kept.nodes) > 2  # all that the list holds, not only the one that was looked at
    assert {page.node(node)["name"] for node in kept.nodes} == {"MeanBackward0"}
    assert {page.node(node)["line"] for node in created.nodes} == {9}


@pytest.mark.slow
@engines
def test_the_findings_do_not_change(tmp_path: Path, engine: str) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    for text in (CARRIED, INPLACE, COLLECTED, HEALTHY):
        plain = doctor(tmp_path, text, engine=engine)
        seen = doctor(tmp_path, text, "--html", str(tmp_path / "out.html"), engine=engine)
        assert seen.report["diagnoses"] == plain.report["diagnoses"]
        assert (seen.out, seen.status) == (plain.out, plain.status)


CASES = Path(__file__).parent / "cases"


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(p.stem for p in CASES.glob("*.py"))[::12])
def test_the_findings_of_others_do_not_change(name: str) -> None:
    pytest.importorskip("torch")
    script = CASES / f"{name}.py"
    plain, recorded = examine(script), examine(script, recorded=True)
    assert isinstance(recorded["graph"], int), recorded["graph"]
    # of two states that one line makes, either may be the one that is named
    judged = ("category", "error_line", "created_at", "freed_at", "fix")
    both = [
        [{key: each[key] for key in judged} for each in run["found"]] for run in (plain, recorded)
    ]
    assert both[0] == both[1] and recorded["unseen"] == plain["unseen"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "import torch\nimport os\nos.kill(os.getpid(), 9)\n",
            "the program ended before anything was recorded",
        ),
        ("import torch\nprint(torch.ones(2))\n", "no operation of it was recorded"),
    ],
)
def test_a_report_without_a_graph_says_why(tmp_path: Path, text: str, reason: str) -> None:
    page = Page(report_page(tmp_path, text, "--no-verify"))
    assert page.recordings == [] and page.links == []
    assert f"the graph of this run: {reason}" in page.said


def test_a_healthy_program_has_its_graph(tmp_path: Path) -> None:
    page = Page(report_page(tmp_path, HEALTHY))
    assert "no autograd mistake seen" in page.said and len(page.recordings[0]["calls"]) == 3


def test_nothing_of_a_program_is_taken_for_html() -> None:
    harm = "<script>alert(1)</script></article>"
    text = html.page(Result(script=f"/{harm}.py", error=harm, unseen=[harm]), harm)
    assert harm not in text and "&lt;script&gt;alert" in text
