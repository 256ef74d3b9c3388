"""`retrograd compat`: the names of PyTorch in a program, found without running it."""

import json
import textwrap
from pathlib import Path

import pytest

from retrograd.cli import main
from retrograd.compat.scan import Scan, scan, scan_paths


def names(text: str) -> list[str]:
    found = scan(textwrap.dedent(text), "program.py")
    return [use.name for use in found.uses if use.certain]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\ntorch.zeros(2)", ["torch.zeros"]),
        ("import torch as t\nt.nn.Linear(1, 2)", ["torch.nn.Linear"]),
        ("import torch.nn as nn\nnn.Linear", ["torch.nn", "torch.nn.Linear"]),
        ("import torch.optim\ntorch.zeros", ["torch.optim", "torch.zeros"]),
        ("from torch import nn\nnn.init.zeros_", ["torch.nn", "torch.nn.init.zeros_"]),
        (
            "from torch.nn import functional as F\nF.relu(x)",
            ["torch.nn.functional", "torch.nn.functional.relu"],
        ),
        ("import torch\ntorch.zeros(2).foo.bar", ["torch.zeros"]),
        ("import torch\ntorch.float32.itemsize", ["torch.float32"]),
        # another module, or a name that is something else by then
        ("import numpy as torch\ntorch.zeros(2)", []),
        ("import torch\ntorch = load()\ntorch.zeros(2)", []),
        ("import torch\ndef f(torch):\n    return torch.zeros(2)", []),
        ("import torch\ndef f():\n    return torch.zeros(2)", ["torch.zeros"]),
        ("def f():\n    import torch\n    return torch.zeros(2)\ntorch.ones(2)", ["torch.zeros"]),
        ("from . import torch\ntorch.zeros(2)", []),
    ],
)
def test_names(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_members_of_unknown_values_are_uncertain_and_only_tensors() -> None:
    found = scan("import torch\nx.backward()\nx.items()\nx.frobnicate()\n", "program.py")
    uncertain = [use.name for use in found.uses if not use.certain]
    assert uncertain == ["torch.Tensor.backward"]
    assert scan("x.backward()", "program.py").uses == []  # no torch in this program


def test_stars_packages_and_errors_are_told() -> None:
    found = Scan()
    scan("from torch.nn import *\nimport torchvision.models", "one.py", found)
    scan("x =", "two.py", found)
    assert [(use.name, use.line) for use in found.stars] == [("torch.nn", 1)]
    assert [use.name for use in found.packages] == ["torchvision"]
    assert found.unreadable == [("two.py", "not Python in line 1: invalid syntax")]


def test_folders_are_read_without_those_of_others(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.py").write_text("import torch\n")
    for folder in (".hidden", "venv", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "b.py").write_text("import torch\n")
    (tmp_path / "other" / "pyvenv.cfg").write_text("")
    (tmp_path / "notes.txt").write_text("import torch")
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    found = scan_paths([tmp_path])
    assert found.files == 2
    assert [file for file, _ in found.unreadable] == [str(tmp_path / "bytes.py")]


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("import torch\ntorch.zeros(2)\n", 0, "1 supported"),
        ("import torch\ntorch.jit.load(f)\n", 1, "torch.jit.load"),
        ("import torchvision\n", 1, "torchvision"),
        ("print('hello')\n", 0, "0 names of PyTorch"),
        ("x =", 2, "not Python"),
    ],
)
def test_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, status: int, said: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(text)
    assert main(["compat", str(program)]) == status
    assert said in capsys.readouterr().out


def test_missing_name_has_its_lines_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text("import torch\n\ntorch.jit.load(f)\n")
    assert main(["compat", str(program), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (entry,) = report["names"]
    assert entry["name"] == "torch.jit.load" and entry["status"] in ("absent", "refuses")
    assert entry["places"] == [{"file": str(program), "line": 3}]
    assert entry["note"]


def test_path_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compat", "no/such/path"]) == 2
    assert "there is no no/such/path" in capsys.readouterr().err
