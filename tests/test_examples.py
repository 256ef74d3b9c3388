"""The example programs run under `retrograd run`, and print what they print on PyTorch."""

import contextlib
import functools
import io
import re
import subprocess
from pathlib import Path

import pytest

from tests.programs.side_by_side import differences, numbers, on_pytorch, on_retrograd

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
AVERAGE = re.compile(r"average loss (\S+)")

# second_backward.py imports retrograd itself and has its own tests below; cartpole.py is a module.
NAMES = sorted({path.stem for path in EXAMPLES.glob("*.py")} - {"second_backward", "cartpole"})
QUICK = {"linear_regression", "two_losses"}  # each is a process, which takes a second to start
MARKED = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in NAMES]


@functools.cache
def _output_here(name: str) -> "subprocess.CompletedProcess[str]":
    return on_retrograd(EXAMPLES, f"{name}.py")


@pytest.mark.parametrize("name", MARKED)
def test_runs_on_retrograd(name: str) -> None:
    done = _output_here(name)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(numbers(done.stdout)) >= 4


@pytest.mark.torch
@pytest.mark.parametrize("name", MARKED)
def test_prints_the_lines_of_pytorch(name: str) -> None:
    pytest.importorskip("torch")
    theirs = on_pytorch(EXAMPLES, f"{name}.py")
    assert theirs.returncode == 0, theirs.stderr
    assert differences(_output_here(name).stdout, theirs.stdout) == []


def test_every_example_is_described() -> None:
    described = re.findall(
        r"^\| `(\w+)\.py` \|", (EXAMPLES / "README.md").read_text(), re.MULTILINE
    )
    assert sorted(described) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


def output_of(source: str, path: Path) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def test_second_backward_shows_the_report_and_trains() -> None:
    path = EXAMPLES / "second_backward.py"
    output = output_of(path.read_text(encoding="utf-8"), path)
    assert "RuntimeError: Trying to backward through the graph a second time" in output
    assert "error[RG101]" in output
    averages = [float(text) for text in AVERAGE.findall(output)]
    assert len(averages) == 6
    assert averages[-1] < averages[0] / 10


@pytest.mark.torch
def test_second_backward_prints_the_losses_of_pytorch() -> None:
    pytest.importorskip("torch")
    path = EXAMPLES / "second_backward.py"
    source = path.read_text(encoding="utf-8")
    theirs = output_of(source.replace("import retrograd as torch", "import torch"), path)
    ours = output_of(source, path)
    expected = [float(text) for text in AVERAGE.findall(theirs)]
    found = [float(text) for text in AVERAGE.findall(ours)]
    assert found == pytest.approx(expected, rel=0.02, abs=2e-4)
