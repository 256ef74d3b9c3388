"""Writes ``docs/autograd.md``: ``python -m retrograd.compat.table docs/autograd.md``."""

from __future__ import annotations

import sys
from pathlib import Path

from retrograd.compat.names import public_names, support

_SIGNS = {"supported": "yes", "differs": "**differs**", "not": "**no**"}
_INTRODUCTION = """\
# Autograd, name by name

Every public name of PyTorch 2.13's autograd modules, and what became of it here. This page is
written by `python -m retrograd.compat.table docs/autograd.md` from the code itself; the tests fail
when it is out of date, and compare the list of names with PyTorch's own.

Behaviour that differs in general, whatever the name, is in [differences.md](differences.md).
"""


def table() -> str:
    """The page as text."""
    parts = [_INTRODUCTION]
    for module, names in public_names().items():
        parts.append(f"## `{module}`\n")
        parts.append("| name | supported | |\n| --- | --- | --- |")
        for name in names:
            found = support(module, name)
            note = found.note or found.summary
            parts.append(f"| `{name}` | {_SIGNS[found.status]} | {note.replace('|', '/')} |")
        parts.append("")
    return "\n".join(parts)


def main() -> None:
    """Write the page to the path given."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m retrograd.compat.table PATH")
    path = Path(sys.argv[1])
    written = path.with_suffix(".new")
    written.write_text(table(), encoding="utf-8")
    written.replace(path)


if __name__ == "__main__":
    main()
