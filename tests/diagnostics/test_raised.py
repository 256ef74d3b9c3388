"""Messages that the catalogue knows are raised with their code, wherever they are written."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
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
FILLINGS = ("7", "[7]", "name", "torch.Size([7])", "<class 'int'>")
Texts = Mapping[str, Sequence[ast.expr]]


def messages(node: ast.expr, names: Texts) -> Iterator[str]:
    """What a text may say, with a few fillings for the fields of an f-string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Name):
        for value in names.get(node.id, ()):
            yield from messages(value, {})
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left = list(itertools.islice(messages(node.left, names), 16)) or ["name"]
        for start, end in itertools.product(left, list(messages(node.right, names)) or ["name"]):
            yield start + end
    elif isinstance(node, ast.JoinedStr):
        fields = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        known = [isinstance(field, ast.Name) and field.id in names for field in fields]
        options = [
            list(itertools.islice(messages(field, names), 4)) if found else FILLINGS
            for field, found in zip(fields, known, strict=True)
        ]
        for fillings in itertools.islice(itertools.product(*options), 512):
            rest = iter(fillings)
            yield "".join(
                part.value if isinstance(part, ast.Constant) else next(rest) for part in node.values
            )


def read(path: Path, *names: str) -> tuple[list[ast.Call], Texts]:
    """The calls of a file that has one of the names, and its texts, such as `_MESSAGE = "..."`."""
    text = path.read_text("utf-8")
    calls: list[ast.Call] = []
    found: dict[str, list[ast.expr]] = {}
    if not any(f"{name}(" in text for name in names):
        return calls, found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and node.args:
            calls.append(node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.JoinedStr):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return calls, found


def bare_errors(path: Path) -> list[str]:
    """Exceptions with a known message that are not handed to `explained`."""
    calls, names = read(path, "Error")
    inner = {
        id(argument)
        for call in calls
        for argument in call.args
        if ast.unparse(call.func).rpartition(".")[2] == "explained"
    }
    found = []
    for call in calls:
        if id(call) in inner:
            continue
        name = ast.unparse(call.func).rpartition(".")[2]
        if name.endswith("Error") and any(map(find, messages(call.args[0], names))):
            found.append(f"line {call.lineno}: {ast.unparse(call.args[0])[:80]}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_known_messages_are_explained(path: Path) -> None:
    assert bare_errors(path) == [], "raise them as `explained(RuntimeError(...))`"


def codes_of(call: ast.Call, names: Texts) -> set[str]:
    """The codes that the catalogue finds for the message of `explained(RuntimeError(message))`."""
    error = call.args[0]
    text = error.args[0] if isinstance(error, ast.Call) and error.args else error
    if isinstance(text, ast.Name) and text.id not in names:
        return set()
    found = [find(message) for message in itertools.islice(messages(text, names), 64)]
    return {entry[0].code for entry in found if entry is not None}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_errors_state_their_code(path: Path) -> None:
    """Errors are raised by code, and it is the one that the message has in PyTorch."""
    raising = ("explained", "explained_warning", "runtime_error", "_coded")
    calls, names = read(path, *raising)
    for call in calls:
        if ast.unparse(call.func).rpartition(".")[2] not in raising:
            continue
        found = codes_of(call, names)
        given = [word.value for word in call.keywords if word.arg == "code"]
        stated = {value.value for value in given if isinstance(value, ast.Constant)}
        if found:
            assert stated == found, f"line {call.lineno}: {found}"
