"""`retrograd explain`: pages, the list, JSON, and near matches for unknown codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from retrograd.cli import main
from retrograd.diagnostics.catalogue import catalogue
from retrograd.diagnostics.pages import whole_page
from retrograd.lint import RULES
from tests.limits import LIMIT

Captured = pytest.CaptureFixture[str]


def test_page(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["explain", "rg101"]) == 0
    assert capsys.readouterr().out == whole_page("RG101")
    assert main(["explain", "graph-freed"]) == 0
    assert capsys.readouterr().out == whole_page("RG101")


def test_one_cause_by_all_its_names(capsys: Captured) -> None:
    for name in ("stale-state-carried", "RG101", "RGL203", "state-carried-through-loop"):
        assert main(["explain", name]) == 0
        assert "stale-state-carried" in capsys.readouterr().out
    assert main(["explain", "Stale-State-Carried", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["cause"], data["rules"]) == ("stale-state-carried", ["RGL203"])
    assert main(["explain", "stale-state"]) == 2
    assert "stale-state-carried" in capsys.readouterr().err


def test_narrow_terminal(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    for arguments in (["explain", "RG101"], ["explain", "RG103"], ["explain"]):
        assert main(arguments) == 0
        printed = capsys.readouterr().out
        text = "".join(printed.split("```")[::2])
        assert max(len(line) for line in text.splitlines()) <= 50
        if arguments[1:]:
            assert printed.split() == whole_page(arguments[1]).split()
            assert "  " not in text.replace("\n  ", "\n")  # wrapped again, not cut


def test_list(capsys: Captured) -> None:
    assert main(["explain"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("lifecycle\n  RG101  ")
    assert all(code in text for code in catalogue())


def test_json(capsys: Captured) -> None:
    assert main(["explain", "--json"]) == 0
    codes = [entry["code"] for entry in json.loads(capsys.readouterr().out)]
    assert codes == [*catalogue(), *RULES]
    assert main(["explain", "RG201", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["slug"] == "shapes-do-not-broadcast"
    assert "import retrograd as torch" in data["examples"]["fails"]


def test_unknown_code(capsys: Captured) -> None:
    assert main(["explain", "RG1O1"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "there is no code RG1O1" in captured.err
    assert "RG101" in captured.err
    assert main(["explain", "??"]) == 2
    assert "lists all codes" in capsys.readouterr().err


def test_no_command(capsys: Captured) -> None:
    assert main([]) == 2
    assert "explain" in capsys.readouterr().out


def test_as_a_module() -> None:
    command = [sys.executable, "-m", "retrograd", "explain", "RG104"]
    wide = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=wide, timeout=LIMIT
    )
    assert done.stdout == whole_page("RG104")
