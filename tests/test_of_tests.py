"""The tests themselves: none waits without a limit, passes over everything, or ends unseen."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))
STARTERS = ("run", "call", "check_call", "check_output")


def endless(tree: ast.AST) -> Iterator[ast.AST]:
    """Calls that wait for another process for ever: the limit of pytest ends this one only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, owner = node.func.attr, ast.unparse(node.func.value)
            waits = (owner == "subprocess" and name in STARTERS) or name == "communicate"
            if waits and not any(given.arg in ("timeout", None) for given in node.keywords):
                yield node


def swallowing(tree: ast.AST) -> Iterator[ast.AST]:
    """Handlers and contexts that pass over every exception, the failed assertion among them."""
    everything = ("Exception", "BaseException", "AssertionError")
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            broad = node.type is None or ast.unparse(node.type) in everything
            if broad and all(isinstance(line, ast.Pass) for line in node.body):
                yield node
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            if any(ast.unparse(given) in everything for given in node.args):
                yield node


def unseen(tree: ast.AST) -> Iterator[ast.AST]:
    """Tests that return before they have done anything, instead of being skipped."""
    for test in ast.walk(tree):
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            for line in test.body:
                if isinstance(line, ast.If) and isinstance(line.body[0], ast.Return):
                    yield line
                if any(isinstance(node, ast.Assert) for node in ast.walk(line)):
                    break


RULES = {"endless": endless, "swallowing": swallowing, "unseen": unseen}


@pytest.mark.parametrize("rule", RULES)
def test_no_test_is(rule: str) -> None:
    found = [
        f"{path.relative_to(TESTS)}:{getattr(node, 'lineno', 0)}"
        for path in FILES
        for node in RULES[rule](ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("endless", "subprocess.run(['a'], check=True)"),
        ("endless", "process.communicate()"),
        ("swallowing", "try:\n    check()\nexcept Exception:\n    pass"),
        ("swallowing", "with contextlib.suppress(AssertionError):\n    check()"),
        ("unseen", "def test_it():\n    if missing:\n        return\n    assert works"),
    ],
)
def test_a_rule_finds_what_it_is_about(rule: str, code: str) -> None:
    assert list(RULES[rule](ast.parse(code)))
