"""`retrograd info`."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy
import pytest

from retrograd.cli import main
from tests.limits import LIMIT


def test_text_names_versions_kernels_and_threads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    for topic in ("versions", "backends", "threads", "settings", "optional packages"):
        assert f"{topic}\n" in printed
    assert numpy.__version__ in printed
    assert max(len(line) for line in printed.splitlines()) < 200


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    with open(Path(__file__).parents[1] / "pyproject.toml", "rb") as file:
        version = tomllib.load(file)["project"]["version"]
    assert capsys.readouterr().out == f"retrograd {version}\n"


def test_json_has_the_same_facts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["versions"]["numpy"] == numpy.__version__
    assert facts["versions"]["names of PyTorch"] == "2.13.0"
    assert facts["threads"]["OMP_NUM_THREADS"] == "3"
    assert facts["settings"]["RETROGRAD_GROWTH"] == os.environ.get("RETROGRAD_GROWTH", "not set")


def test_it_says_which_compiled_parts_are_missing() -> None:
    off = {**os.environ, "RETROGRAD_KERNELS": "0", "RETROGRAD_CORE": "0"}
    command = [sys.executable, "-m", "retrograd", "info", "--json"]
    printed = subprocess.run(
        command, env=off, capture_output=True, text=True, check=True, timeout=LIMIT
    ).stdout
    facts = json.loads(printed)["backends"]
    parts = [name for name in facts if name.startswith("compiled")]
    assert len(parts) == 5
    assert [name for name in parts if facts[name] == "in use"] == []
