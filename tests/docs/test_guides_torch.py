"""PyTorch does what the guides say: the programs print the same, or fail with the same line."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SPEC = importlib.util.spec_from_file_location("printed", Path(__file__).parent / "printed.py")
assert SPEC is not None and SPEC.loader is not None
printed = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(printed)

PAGES = [
    *(printed.DOCS / name for name in ("index.md", "quickstart.md", "coming_from_pytorch.md")),
    *sorted((printed.DOCS / "guides").glob("*.md")),
]
BLOCK = re.compile(
    r"^```python\n(?P<program>(?:(?!```).*\n)*)```$(?:\n\n```text\n(?P<printed>(?:(?!```).*\n)*)```$)?",
    re.MULTILINE,
)
OURS = ("torch.summary", "memory.give_back")  # PyTorch has no such functions


def blocks() -> list[Any]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            place = f"{page.relative_to(printed.ROOT)}:{text.count(chr(10), 0, match.start()) + 2}"
            if not any(name in match["program"] for name in OURS):
                found.append(pytest.param(match["program"], match["printed"] or "", id=place))
    return found


@pytest.mark.parametrize(("program", "shown"), blocks())
def test_pytorch_does_the_same(program: str, shown: str) -> None:
    source = program.replace("import retrograd as torch", "import torch")
    source = source.replace("import retrograd.", "import torch.").replace(
        "from retrograd.", "from torch."
    )
    assert "retrograd" not in source
    output = io.StringIO()
    message = ""
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's own, about itself
        try:
            exec(compile(source, "train.py", "exec"), {"__name__": "__main__"})
        except RuntimeError as error:
            message = printed.shortened(f"{type(error).__name__}: {error}")
    expected = shown.partition("\nerror[")[0]
    assert printed.same(expected, output.getvalue() + message), output.getvalue() + message
