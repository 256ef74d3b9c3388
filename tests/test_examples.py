"""The example programs run, and print what PyTorch prints."""

import contextlib
import io
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
AVERAGE = re.compile(r"average loss (\S+)")


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
