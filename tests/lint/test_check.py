"""Reading programs: imports, `# noqa`, positions, hostile files, time, and healthy programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from retrograd.lint import lint_text
from retrograd.lint.check import Report, selected
from retrograd.lint.page import lint_page
from retrograd.lint.program import Program
from tests.doctor.patches import repaired
from tests.lint.cases import PREAMBLE, read_cases

ROOT = Path(__file__).resolve().parents[2]
BAD = "import torch\nloss.backward\n"
LONG = 900  # seconds: only what never ends takes so long


def codes(text: str) -> list[str]:
    report = lint_text(text, "x.py", seconds=LONG)
    assert report.error == ""
    return [finding.code for finding in report.findings]


# ------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nloss.backward\n",
        "import torch.nn as nn\nloss.backward\n",
        "from torch import nn\nloss.backward\n",
        "import retrograd as torch\nloss.backward\n",
        "def f():\n    import torch\n    loss.backward\n",
    ],
)
def test_programs_that_use_torch(text: str) -> None:
    assert codes(text) == ["RGL205"]


@pytest.mark.parametrize(
    "text",
    ["loss.backward\n", "import torchx\nloss.backward\n", "# torch\nimport jax\nloss.backward"],
)
def test_programs_that_do_not(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("import torch", "torch.autograd.Variable"),
        ("import torch.autograd", "torch.autograd.Variable"),
        ("import torch.autograd as ag", "ag.Variable"),
        ("from torch import autograd", "autograd.Variable"),
        ("from torch.autograd import Variable as V", "V"),
        ("import retrograd.autograd as ag", "ag.Variable"),
    ],
)
def test_names_through_imports(imports: str, name: str) -> None:
    text = f"{imports}\nx = {name}(3)\n"
    assert [f.code for f in lint_text(text, "x.py", selected(["RGL503"])).findings] == ["RGL503"]


def test_shadowed_name() -> None:
    text = "from torch.autograd import Variable\ndef f(Variable):\n    return Variable(3)\n"
    assert lint_text(text, "x.py", selected(["RGL503"])).findings == []


# -------------------------------------------------------------------------------- noqa


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# noqa", True),
        ("#noqa", True),
        ("# NOQA", True),
        ("# noqa: RGL205", True),
        ("# noqa: E501, RGL205", True),
        ("# noqa:RGL205 because", True),
        ("# why not  # noqa: RGL205", True),
        ("# noqa: RGL101", False),
        ("# noqa: E501", False),
        ("# no qa", False),
        ("", False),
    ],
)
def test_noqa(comment: str, silent: bool) -> None:
    report = lint_text(f"import torch\nloss.backward  {comment}\n", "x.py")
    assert (report.findings == []) == silent
    assert report.suppressed == int(silent)


def test_noqa_at_the_end_of_a_long_statement() -> None:
    assert codes("import torch\nf(\n    1\n).backward  # noqa\n") == []
    assert codes("import torch\nx = '# noqa'; loss.backward\n") == ["RGL205"]


# --------------------------------------------------------------------------- positions


def test_columns_count_characters() -> None:
    (finding,) = lint_text('import torch\nx = "äöü€🙂"; loss.backward\n', "x.py").findings
    assert (*finding.start, finding.end[1]) == (2, 14, 27)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_line_ends(ends: str) -> None:
    text = ends.join(["import torch", "", "x = 'ä'", "loss.backward", ""])
    (finding,) = lint_text(text, "x.py").findings
    assert finding.start == (4, 1)


# ----------------------------------------------------------------------------- hostile


@pytest.mark.parametrize(
    "text",
    [
        BAD + "x = " + "(" * 5000 + ")" * 5000,
        BAD + "x = " + "-" * 20000 + "1",
        BAD + "x = " + "+".join(["a"] * 20000),
        BAD + "x = " + "a." * 20000 + "b",
        BAD + "x = " + "[" * 100000,
        BAD + "".join(" " * i + "if x:\n" for i in range(150)) + " " * 150 + "pass\n",
        BAD + "x = " + "lambda: " * 5000 + "1",
        BAD + "x = " + "f(" * 3000 + ")" * 3000,
        "import torch\n" + "x" * 5_000_001,
        "\0torch",
        "torch \ud800",
        "import torch\n" + "\\\n" * 1000 + "(",
    ],
    ids=lambda text: repr(text[-12:]),
)
def test_hostile_text_gives_a_message(text: str) -> None:
    report = lint_text(text, "x.py", seconds=LONG)
    assert isinstance(report, Report)
    if text.startswith(BAD) and not report.error:  # newer Pythons read some of them after all
        assert sys.version_info >= (3, 14) and [f.code for f in report.findings] == ["RGL205"]
        return
    assert report.error and report.findings == [] and "took longer" not in report.error


def test_many_branches_are_no_problem() -> None:
    chain = "if a == 0:\n    pass\n" + "".join(f"elif a == {i}:\n    b = {i}\n" for i in range(800))
    assert codes(BAD + chain) == ["RGL205"]


def test_many_steps_in_one_loop() -> None:
    lines = "".join(f"    a{i} = a{i - 1} + model(a{i - 1})\n" for i in range(1, 700))
    text = (
        f"{PREAMBLE}a0 = 1\nfor _ in loader:\n{lines}    loss = a699.mean()\n    loss.backward()\n"
    )
    report = lint_text(text, "x.py", seconds=LONG)
    assert report.error == "" and report.findings == []


def test_time_is_limited() -> None:
    report = lint_text(BAD * 50, "x.py", seconds=-1)
    assert report.error == "took longer than -1 s: not checked"
    assert report.findings == []


def test_the_work_grows_with_the_length_of_a_program() -> None:
    bodies = [case.source.replace(PREAMBLE, "") for case in read_cases()]

    def calls(copies: int) -> int:
        """The calls that checking sixty programs in one, or copies of them, takes."""
        text = PREAMBLE
        for number, body in enumerate(bodies[:60] * copies):
            inner = "".join(f"    {line}\n" for line in body.splitlines())
            text += f"def case_{number}():\n{inner}"
        count = 0

        def counting(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += 1

        before = sys.getprofile()
        sys.setprofile(counting)
        try:
            report = lint_text(text, "x.py", seconds=LONG)
        finally:
            sys.setprofile(before)
        assert report.findings
        return count

    once = calls(1)
    assert calls(2) < 2.5 * once


# ----------------------------------------------------------------------------- healthy


def healthy() -> list[Path]:
    found = [
        *(ROOT / "examples").glob("*.py"),
        *(ROOT / "tests" / "programs").glob("*.py"),
        *(ROOT / "tests" / "articles").rglob("*.py"),
        *(repaired(diff) for diff in (ROOT / "tests" / "doctor").rglob("*.diff")),
        *(ROOT / "retrograd").rglob("*.py"),
    ]
    return sorted(found)


def test_healthy_programs_are_silent() -> None:
    reported = {}
    for path in healthy():
        report = lint_text(path.read_text(encoding="utf-8"), str(path), seconds=LONG)
        assert report.error == ""
        if report.findings:
            reported[path.name] = [(f.code, f.line) for f in report.findings]
    assert reported == {  # these show a mistake
        "second_backward.py": [("RGL203", 44)],
        "retain_then_accumulate.py": [("RGL201", 14)],
    }


@pytest.mark.torch
def test_pytorch_itself_is_silent() -> None:
    torch = pytest.importorskip("torch")
    root = Path(torch.__file__).parent
    reported = {}
    for folder in ("optim", "nn"):
        for path in sorted((root / folder).rglob("*.py")):
            findings = lint_text(path.read_text(encoding="utf-8"), str(path)).findings
            if findings:
                reported[str(path)] = [(f.code, f.line) for f in findings]
    assert reported == {}


# -------------------------------------------------------------------------------- page


def test_page_of_the_documentation() -> None:
    """If this fails: python -m retrograd.compat.documentation docs/lint.md."""
    assert (ROOT / "docs" / "lint.md").read_text(encoding="utf-8") == lint_page()


def test_program_knows_its_modules() -> None:
    import ast

    text = PREAMBLE + "frozen = Net()\nfrozen.requires_grad_(False)\n"
    program = Program(text, "x.py", ast.parse(text))
    assert list(program.module_classes) == ["Net"]
    assert program.instance("model", program.module).trains
    assert program.instance("criterion", program.module).kind == "loss"
    assert program.frozen == {"frozen"}
