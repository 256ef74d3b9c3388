"""Writes pages of the documentation: ``python -m retrograd.compat.table docs/api.md``.

The name of the file says which page: ``autograd.md`` or ``api.md``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from retrograd.compat.names import public_names, support
from retrograd.compat.status import STATUSES, absent_groups, api_names, group_of, status_of

_SIGNS = {"supported": "yes", "differs": "**differs**", "not": "**no**"}
_AUTOGRAD = """\
# Autograd, name by name

Every public name of PyTorch 2.13's autograd modules, and what became of it here. This page is
written by `python -m retrograd.compat.table docs/autograd.md` from the code itself; the tests fail
when it is out of date, and compare the list of names with PyTorch's own.

Behaviour that differs in general, whatever the name, is in [differences.md](differences.md).
"""
_API = """\
# The interface, name by name

Every public name of PyTorch 2.13, and what became of it here:

- **works**: as in PyTorch
- **differs**: is there, and the note says what is different
- **refuses**: can be named; using it raises an error that says what to do instead
- **absent**: is not there; asking for it raises an error with the reason of its group

Autograd has [a page of its own](autograd.md); behaviour that differs in general, whatever the
name, is in [differences.md](differences.md). This page is written by `python -m
retrograd.compat.table docs/api.md` from the code itself; the tests fail when it is out of date, and
compare the list of names with PyTorch's own. A program asks with
`retrograd.compat.status_of("torch.nn.Linear")`.
"""


def table() -> str:
    """The page about autograd as text."""
    parts = [_AUTOGRAD]
    for module, names in public_names().items():
        parts.append(f"## `{module}`\n")
        parts.append("| name | supported | |\n| --- | --- | --- |")
        for name in names:
            found = support(module, name)
            note = found.note or found.summary
            parts.append(f"| `{name}` | {_SIGNS[found.status]} | {note.replace('|', '/')} |")
        parts.append("")
    return "\n".join(parts)


def api_page() -> str:
    """The page about everything else as text."""
    found = {
        module: {name: status_of(_path(module, name)) for name in names}
        for module, names in api_names().items()
    }
    parts = [_API, "| module | works | differs | refuses | absent |", "| --- |" + " --- |" * 4]
    for module, names in found.items():
        counts = [[s.status for s in names.values()].count(status) for status in STATUSES]
        parts.append(f"| {_heading(module)} | " + " | ".join(map(str, counts)) + " |")
    parts.append("")
    for module, names in found.items():
        parts.append(f"## {_heading(module)}\n")
        for status in STATUSES:
            chosen = {name: s.note for name, s in names.items() if s.status == status}
            if chosen:
                parts += _listed(module, status, chosen)
    parts.append("## What is absent, and why\n")
    parts += [f"- **{group.title}**: {group.reason}" for group in absent_groups()]
    return "\n".join(parts) + "\n"


def _path(module: str, name: str) -> str:
    return name if module == "modules" else f"{module}.{name}"


def _heading(module: str) -> str:
    return "modules by path" if module == "modules" else f"`{module}`"


def _listed(module: str, status: str, notes: dict[str, str]) -> list[str]:
    """Names of one status: together, with their notes, or by group."""
    if status == "works":
        return [f"Works: {_names(notes)}\n"]
    groups: dict[str, list[str]] = {}
    for name, note in notes.items():
        group = group_of(_path(module, name)) if status == "absent" else None
        groups.setdefault(group.title if group is not None else note, []).append(name)
    lines = [f"- {note}: {_names(names)}" for note, names in groups.items()]
    return [f"{status.title()}:\n", *lines, ""]


def _names(names: dict[str, str] | list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


PAGES = {"autograd.md": table, "api.md": api_page}


def main() -> None:
    """Write the page to the path given."""
    name = Path(sys.argv[-1]).name
    if len(sys.argv) != 2 or name not in PAGES:
        sys.exit(f"usage: python -m retrograd.compat.table PATH/{{{','.join(PAGES)}}}")
    path = Path(sys.argv[1])
    written = path.with_suffix(".new")
    written.write_text(PAGES[name](), encoding="utf-8")
    written.replace(path)


if __name__ == "__main__":
    main()
