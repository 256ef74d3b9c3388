"""Fixes keep the text around them, give programs that parse, run and are no longer reported."""

from __future__ import annotations

import ast

import pytest

pytest.importorskip("libcst")

from retrograd.lint import RULES, lint_text
from retrograd.lint.fixing import CannotFix, apply_fixes
from tests.lint.cases import Case, read_cases
from tests.lint.test_rules import on_retrograd

FIXED = [
    case for case in read_cases() if case.kind == "reported" and RULES[case.code].fix != "none"
]


def fixed(source: str, code: str, unsafe: bool = True) -> str:
    return apply_fixes(source, lint_text(source, "x.py", [RULES[code]]).findings, unsafe).text


@pytest.mark.parametrize("case", FIXED, ids=str)
def test_fix_of_the_table(case: Case) -> None:
    findings = lint_text(case.source, "x.py", [RULES[case.code]]).findings
    result = apply_fixes(case.source, findings, unsafe=True)
    ast.parse(result.text)
    with_fix = [finding for finding in findings if finding.repair is not None]
    assert result.done == with_fix
    if with_fix:
        assert result.text != case.source
        left = lint_text(result.text, "x.py", [RULES[case.code]]).findings
        assert len(left) == len(findings) - len(with_fix)
    else:
        assert result.text == case.source


WITH_FIX = [
    code
    for code, rule in RULES.items()
    if any(finding.repair for finding in lint_text(rule.reported, "x.py", [rule]).findings)
]


@pytest.mark.parametrize("code", WITH_FIX)
def test_fixed_example_runs(code: str) -> None:
    text = fixed(RULES[code].reported, code)
    assert text != RULES[code].reported
    if code == "RGL303":
        # the line that hid the cut is gone, so the cut is seen
        with pytest.raises(RuntimeError, match="does not require grad"):
            exec(compile(on_retrograd(text), code, "exec"), {})
        return
    exec(compile(on_retrograd(text), code, "exec"), {"__name__": code})


@pytest.mark.parametrize("rule", RULES.values(), ids=str)
def test_rules_say_whether_they_fix(rule: object) -> None:
    from retrograd.lint import Rule

    assert isinstance(rule, Rule)
    safe = set()
    for case in read_cases():
        if case.code == rule.code and case.kind == "reported":
            for finding in lint_text(case.source, "x.py", [rule]).findings:
                if finding.repair is not None:
                    safe.add(finding.repair.safe)
    assert safe == {"none": set(), "safe": {True}, "unsafe": {False}}[rule.fix]


LOOP = """\
import torch
from torch import nn
model = nn.Linear(3, 1)
total = 0.0   # the sum
for x in xs:
    loss = model(x).mean()
    loss.backward( retain_graph = True, )  # why?
    total  +=  loss # keep
"""


def test_formatting_stays() -> None:
    text = fixed(LOOP, "RGL101")
    assert text == LOOP.replace("+=  loss #", "+=  loss.item() #")


def test_only_safe_fixes_unless_told() -> None:
    source = "import torch\nloss.backward\n"
    assert fixed(source, "RGL205", unsafe=False) == source
    assert fixed(source, "RGL205") == "import torch\nloss.backward()\n"


@pytest.mark.parametrize(
    ("code", "before", "after"),
    [
        ("RGL205", "loss.backward ; x = 1", "loss.backward() ; x = 1"),
        ("RGL205", "(loss).backward", "(loss).backward()"),
        ("RGL205", "if a: loss.backward", "if a: loss.backward()"),
        (
            "RGL304",
            "x = torch.ones(3)\ny = torch.tensor( (x) )  # copy",
            "x = torch.ones(3)\ny = (x).detach().clone()  # copy",
        ),
        ("RGL301", "x = torch.ones(3)\nx.to(  'cpu' )", "x = torch.ones(3)\nx = x.to(  'cpu' )"),
        (
            "RGL302",
            "for p in ps:\n    # update\n    p.data -= p.grad  # now",
            "for p in ps:\n    # update\n    with torch.no_grad():\n        p -= p.grad  # now",
        ),
        (
            "RGL503",
            "from torch.autograd import Variable\ny = Variable(a + b) * 2",
            "from torch.autograd import Variable\ny = (a + b) * 2",
        ),
    ],
)
def test_text(code: str, before: str, after: str) -> None:
    assert fixed(f"import torch\n{before}\n", code) == f"import torch\n{after}\n"


def test_characters_beyond_ascii_and_line_ends() -> None:
    source = 'import torch\r\nx = "äöü€🙂"; loss.backward\r\n'
    assert fixed(source, "RGL205") == source.replace("backward", "backward()")


def test_two_fixes_in_one_file() -> None:
    text = LOOP.replace(" retain_graph = True, ", "")
    text += "    losses.append(loss)\nloss.backward\n"
    text = text.replace("total =", "losses = []\ntotal =")
    findings = lint_text(text, "x.py").findings
    assert sorted(finding.code for finding in findings) == ["RGL101", "RGL102", "RGL205"]
    result = apply_fixes(text, findings, unsafe=True)
    assert len(result.done) == 3
    assert lint_text(result.text, "x.py").findings == []


@pytest.mark.parametrize("depth", [140, 100, 50])
def test_nested_program_is_changed(depth: int) -> None:
    source = "import torch\nloss.backward\nx = " + "-" * depth + "1\n"
    assert fixed(source, "RGL205") == source.replace("backward", "backward()")


def test_deep_program_is_not_changed() -> None:
    source = "import torch\nloss.backward\nx = " + "-" * 400 + "1\n"
    findings = lint_text(source, "x.py").findings
    assert findings
    with pytest.raises(CannotFix, match="too deeply"):
        apply_fixes(source, findings, unsafe=True)
