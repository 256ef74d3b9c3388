"""Messages that the catalogue knows are raised with their code, wherever they are written."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

import retrograd
from retrograd.diagnostics.catalogue import find

PACKAGE = Path(retrograd.__file__).parent
# The backend knows nothing of codes: its errors get theirs where ops call it.
ELSEWHERE = ("backend", "diagnostics", "lifecycle", "testing")
FILES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in ELSEWHERE
)
FILLINGS = ("7", "[7]", "name", "torch.Size([7])")


def messages(node: ast.expr) -> Iterator[str]:
    """What an f-string may say, with a few fillings for its fields."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        fields = sum(isinstance(part, ast.FormattedValue) for part in node.values)
        for fillings in itertools.islice(itertools.product(FILLINGS, repeat=fields), 512):
            rest = iter(fillings)
            yield "".join(
                part.value if isinstance(part, ast.Constant) else next(rest) for part in node.values
            )


def bare_errors(path: Path) -> list[str]:
    """Exceptions with a known message that are not handed to `explained`."""
    tree = ast.parse(path.read_text("utf-8"))
    inner = {
        id(argument)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for argument in call.args
        if ast.unparse(call.func).rpartition(".")[2] == "explained"
    }
    found = []
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or id(call) in inner or not call.args:
            continue
        name = ast.unparse(call.func).rpartition(".")[2]
        if name.endswith("Error") and any(map(find, messages(call.args[0]))):
            found.append(f"line {call.lineno}: {ast.unparse(call.args[0])[:80]}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_known_messages_are_explained(path: Path) -> None:
    assert bare_errors(path) == [], "raise them as `explained(RuntimeError(...))`"
