"""RETROGRAD_REPORT and RETROGRAD_SITES, and what can be said without source or call sites."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retrograd.diagnostics.errors import RetrogradError
from tests.limits import LIMIT

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """import retrograd as torch

w = torch.ones(3, requires_grad=True)
h = torch.ones(3)
for _ in range(2):
    h = torch.tanh(h * w)
    loss = h.sum()
    loss.backward()
"""
MESSAGE = "RuntimeError: Trying to backward through the graph a second time (or directly"


def run(path: Path, source: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path.write_text(source)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RETROGRAD_")}
    return subprocess.run(
        [sys.executable, path.name],
        cwd=path.parent,
        env={**kept, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


def test_full_is_the_default(tmp_path: Path) -> None:
    done = run(tmp_path / "train.py", PROGRAM)
    assert done.returncode == 1
    assert run(tmp_path / "train.py", PROGRAM, RETROGRAD_REPORT="full").stderr == done.stderr
    traceback, report = done.stderr.split("\nerror[RG101]", 1)
    assert MESSAGE in traceback
    assert report.startswith(": `h` still leads into a graph that was already freed\n")
    assert "  --> train.py:6:20\n" in report
    assert "   |                    ^^^^^ 3 used again here: mul, node 5, reached by" in report
    assert report.endswith("more: python -m retrograd explain RG101\n")


def test_short_leaves_the_report_off(tmp_path: Path) -> None:
    done = run(tmp_path / "train.py", PROGRAM, RETROGRAD_REPORT="short")
    assert done.stderr.splitlines()[-1].startswith(MESSAGE)
    assert "RG101" not in done.stderr


def test_json_is_one_line_for_programs(tmp_path: Path) -> None:
    done = run(tmp_path / "train.py", PROGRAM, RETROGRAD_REPORT="json")
    data = json.loads(done.stderr.splitlines()[-1])
    assert (data["code"], data["reason"], data["family"]) == (
        "RG101",
        "stale-state-carried",
        "lifecycle",
    )
    assert data["message"] in done.stderr
    assert [span["location"]["line"] for span in data["spans"]] == [6, 8, 6]
    assert [span["order"] for span in data["spans"]] == [1, 2, 3]
    edit = data["helps"][0]["edit"]
    assert edit["before"] == "    h = torch.tanh(h * w)"
    assert edit["after"] == "    h = torch.tanh(h.detach() * w)"
    assert data["page"] == "RG101.md"


def test_without_sites_the_report_says_less(tmp_path: Path) -> None:
    done = run(tmp_path / "train.py", PROGRAM, RETROGRAD_SITES="0")
    assert MESSAGE in done.stderr
    _, _, report = done.stderr.partition("\nerror[RG101]")
    assert report.startswith(": the result of `tanh` still leads into a graph")
    assert "-->" not in report and "train.py" not in report
    json_form = run(tmp_path / "train.py", PROGRAM, RETROGRAD_SITES="0", RETROGRAD_REPORT="json")
    data = json.loads(json_form.stderr.splitlines()[-1])
    assert data["spans"] == []
    # Lines tell a carried state from a value that was made once; without them nothing does.
    assert data["reason"] is None
    assert "The records do not tell" in data["why"]


def test_without_sites_numbers_still_decide(tmp_path: Path) -> None:
    source = PROGRAM.replace("for _ in range(2):", "if True:") + "    loss.backward()\n"
    done = run(tmp_path / "a.py", source, RETROGRAD_SITES="0", RETROGRAD_REPORT="json")
    assert json.loads(done.stderr.splitlines()[-1])["reason"] == "same-loss-twice"


def test_without_source_there_are_lines_but_no_names() -> None:
    with pytest.raises(RetrogradError) as caught:
        exec(compile(PROGRAM, "<from nowhere>", "exec"), {})
    error = caught.value
    assert error.report is not None
    assert error.reason == "stale-state-carried"
    assert [span.place.line for span in error.spans] == [6, 8, 6]
    assert all(span.place.source is None for span in error.spans)
    assert "`h`" not in error.report.title
    assert all(item.edit is None for item in error.report.fixes)
    (note,) = error.__notes__
    assert "--> <from nowhere>:6" in note


def test_a_changed_source_file_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("# another program\n" * 20)
    with pytest.raises(RetrogradError) as caught:
        exec(compile(PROGRAM, str(path), "exec"), {})
    (note,) = caught.value.__notes__
    assert "another program" not in note
    assert f"{path}:6" in note or "train.py:6" in note


def test_an_interactive_session_gets_its_lines(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-i", "-c", "import retrograd as torch"],
        input="x = torch.ones(2)\nx.backward()\n",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert "error[RG103]" in done.stderr
    # Python 3.13.0 numbers what is typed: <stdin>-0, <stdin>-1, ...
    assert re.search(r"--> <stdin>(-\d+)?:1(:1)?\n", done.stderr)


@pytest.mark.parametrize("where", ["thread", "generator", "lambda", "class body"])
def test_sites_in_unusual_places(fail: Any, where: str) -> None:
    body = {
        "thread": "import threading\nerrors = []\n"
        "def work():\n    try:\n        torch.ones(2).backward()\n"
        "    except RuntimeError as error:\n        errors.append(error)\n"
        "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\nraise errors[0]\n",
        "generator": "list(torch.ones(2).backward() for _ in range(1))\n",
        "lambda": "(lambda: torch.ones(2).backward())()\n",
        "class body": "class Body:\n    torch.ones(2).backward()\n",
    }[where]
    failure = fail("import retrograd as torch\n" + body)
    assert "torch.ones(2).backward()" in failure.lines[0]
    assert failure.report.spans[0].place.text == "torch.ones(2).backward()"
