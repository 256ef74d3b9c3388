"""Errors are raised by their code, wherever they are written; `retrograd/notices.py` says which.

`python -m tests.diagnostics.test_raised` prints how many there are in each room.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
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


RAISING = ("explained", "explained_warning", "runtime_error", "_coded")
OWN_WORDS = ("RuntimeError", "IndexError", "ValueError", "NotImplementedError")
# How a message speaks of what has a code, whether or not the catalogue knows the whole of it.
MECHANISMS = {
    "RG301": r"same (scalar )?(d?type|dtypes)\b|dtypes? [^.]*match|expected dtype .* (but|for)",
    "RG304": r"(implemented|support|supported) (for )?complex|only supports? .*(floating|boolean)",
    "RG305": r"Expected (a long tensor|dtype .*) for index|dtype of indices",
    "RG204": r"is out of bounds|out of range: ",
    "RG205": r"Dimension specified as|repeated dim",
    "RG306": r"(un|not )supported .*(sparse|layout)",
    "RG121": r"derivative for .* is not implemented",
}
# Numbers too large for a dtype, and a list of modules: one argument, which the message names.
ONE_ARGUMENT = ("random/integers.py", "random/uniform.py", "nn/container.py")


def raised(path: Path) -> Iterator[ast.Call]:
    """What the `raise` and `return` statements of a file make: calls, of exceptions among them."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        made = node.exc if isinstance(node, ast.Raise) else None
        made = node.value if isinstance(node, ast.Return) else made
        if isinstance(made, ast.Call):
            yield made


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_mechanisms_have_codes(path: Path) -> None:
    if path.relative_to(PACKAGE).as_posix() in ONE_ARGUMENT:
        pytest.skip("its errors get their codes where they are raised")
    for call in raised(path):
        if ast.unparse(call.func) in OWN_WORDS and call.args:
            text = ast.unparse(call.args[0])
            found = [code for code, words in MECHANISMS.items() if re.search(words, text)]
            assert not found, f"line {call.lineno}: {text}"


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
    calls, names = read(path, *RAISING)
    for call in calls:
        if ast.unparse(call.func).rpartition(".")[2] not in RAISING:
            continue
        found = codes_of(call, names)
        given = [word.value for word in call.keywords if word.arg == "code"]
        assert given, f"line {call.lineno}: an error that is explained has a code"
        stated = {value.value for value in given if isinstance(value, ast.Constant)}
        if found:
            assert stated == found, f"line {call.lineno}: {found}"


def counts() -> Iterator[tuple[str, int, int]]:
    """For each room, in how many places it raises with a code, and in how many without."""
    coded: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    for path in FILES:
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        calls, _ = read(path, *RAISING)
        coded[room] += sum(ast.unparse(call.func).rpartition(".")[2] in RAISING for call in calls)
        plain[room] += sum(ast.unparse(call.func).endswith("Error") for call in raised(path))
    yield from ((room, coded[room], plain[room]) for room in sorted(plain | coded))


if __name__ == "__main__":
    print(f"{'room':16} {'with a code':>12} {'without':>13}")
    rows = list(counts())
    for room, coded, plain in [*rows, ("", sum(r[1] for r in rows), sum(r[2] for r in rows))]:
        print(f"{room:16} {coded:12} {plain:13}")
