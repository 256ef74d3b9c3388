"""`retrograd view`: the program runs as it is, and a page is written, however it ends."""

import base64
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from retrograd.cli import main
from retrograd.graph.page import MARKER
from tests import forked

ROOT = Path(__file__).parents[2]

TRAIN = """\
import sys
import torch

weight = torch.full((4,), 0.5, requires_grad=True)
for step in range(int(sys.argv[1])):
    loss = (weight * weight).exp().sum()
    loss.backward()
    with torch.no_grad():
        weight -= 0.1 * weight.grad
        weight.grad = None
    print(step, loss.item())
"""
AGAIN = TRAIN + "loss.backward()\n"


class Run:
    """What `retrograd view` has printed and written."""

    def __init__(self, folder: Path, text: str, *options: str, given: tuple[str, ...] = ()) -> None:
        (folder / "train.py").write_text(text)
        start = f"import sys; sys.path[0] = {str(ROOT)!r}; from retrograd.cli import main; "
        command = ["-c", start + "sys.exit(main())", "view", *options, "train.py", *given]
        done = forked.python(command, folder, {**os.environ, "COLUMNS": "70"})
        self.status, self.out, self.errors = done.returncode, done.stdout, done.stderr
        self.page = folder / "graph.html"

    def recording(self) -> dict[str, Any]:
        """What the page has inside."""
        text = self.page.read_text().partition(MARKER)[2].partition("<")[0]
        (found,) = json.loads(gzip.decompress(base64.b64decode(text)))["recordings"]
        assert isinstance(found, dict)
        return found


@pytest.mark.parametrize("on", ["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_program_and_its_page(tmp_path: Path, on: str) -> None:
    text = TRAIN.replace("import torch", f"import {on} as torch")
    plain = forked.python(["-c", text, "4"], tmp_path, {**os.environ, "PYTHONPATH": str(ROOT)})
    asked = ("--on", on, "--json", "life.json", "--compare", "0", "3")
    run = Run(tmp_path, TRAIN, *asked, given=("4",))
    assert run.status == 0 and run.out == plain.stdout and plain.stdout.count("\n") == 4
    found = run.recording()
    assert (found["title"], len(found["calls"])) == ("train.py", 4)
    assert [group[0] for group in found["groups"]] == [f"step {i}" for i in range(4)]
    assert found["files"] == [["train.py", TRAIN]]
    assert json.loads((tmp_path / "life.json").read_text())["recordings"] == [found]
    summary = run.errors.splitlines()
    assert summary[1].startswith("4 steps, 12 nodes, 4 backward calls on ")
    assert summary[2] == "at most 16 B held for backward, in step 0"
    assert summary[3] == f"page: {run.page.as_uri()}#a=0,g0&b=0,g3"


@pytest.mark.parametrize("on", ["retrograd", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_program_that_fails(tmp_path: Path, on: str) -> None:
    run = Run(tmp_path, AGAIN, "--on", on, given=("2",))
    assert run.status == 1 and run.out.count("\n") == 2
    found = run.recording()
    message, node, _ = found["calls"][-1]["failure"]
    assert "second time" in message
    assert found["strings"][found["nodes"][node][0]] == "ExpBackward0"
    assert found["events"][-1]["kind"] == "error"
    assert "page: graph.html" in run.errors and "Traceback" in run.errors
    assert "backward call 3 (train.py:12) failed at ExpBackward0" in run.errors
    assert all(len(line) <= 70 for line in run.errors.partition("3 steps")[2].splitlines())


def test_a_long_run_keeps_what_was_asked_for(tmp_path: Path) -> None:
    asked = ("--on", "retrograd", "--steps", "4", "--compare", "7", "90")
    run = Run(tmp_path, TRAIN, *asked, given=("60",))
    assert run.status == 0
    kept = [group[0] for group in run.recording()["groups"]]
    assert kept == [f"step {i}" for i in (0, 7, 58, 59)]
    assert "retrograd view: --compare: the recording has no step 90" in run.errors


ENDS = {
    "import torch, os\ntorch.ones(1, requires_grad=True).exp().sum().backward()\nos._exit(3)": (
        *(3, "1 backward call", True),
    ),
    "import torch, sys\nsys.exit(5)": (5, "the program did not call backward", True),
    "raise SystemExit(0)": (0, "the program did not call backward", True),
    "import torch, os, signal\nos.kill(os.getpid(), signal.SIGKILL)": (
        *(137, "the program ended by SIGKILL before anything could be written", False),
    ),
}


@pytest.mark.parametrize("text", ENDS)
def test_however_it_ends(tmp_path: Path, text: str) -> None:
    status, said, page = ENDS[text]
    run = Run(tmp_path, text, "--on", "retrograd")
    assert run.status == status
    assert said in run.errors
    assert run.page.exists() == page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which program? Give a script, or -m and a module"),
        (["missing.py"], "there is no file 'missing.py'"),
        (["-"], "a program from standard input has no lines"),
        (["-o", "nowhere/graph.html", "script.py"], "-o: there is no folder 'nowhere'"),
        (["--json", "nowhere/life.json", "script.py"], "--json: there is no folder 'nowhere'"),
        (["--steps", "2", "script.py"], "'2' is not a number from 3 on"),
        (["--compare", "0", "x", "script.py"], "'x' is not a number from 0 on"),
    ],
)
def test_wrong_use(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text("raise AssertionError")
    try:
        status: object = main(["view", *arguments])
    except SystemExit as error:
        status = error.code
    assert status == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "graph.html").mkdir()
    run = Run(tmp_path, TRAIN, "--on", "retrograd", given=("1",))
    assert run.status == 2 and "retrograd view: " in run.errors
