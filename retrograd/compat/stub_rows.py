"""The stubs of what is made from the table of names: `torch.cuda`, `torch.backends` and so on."""

from __future__ import annotations

import types
from typing import Any

from retrograd.compat.stub_annotations import Imports, Origin
from retrograd.namespaces.rows import Alias, Answer, Made, Refusal, Row, Rows, Setting, Settings

_ANYTHING = "*args: object, **options: object"


def taken(rows: Rows) -> dict[str, Origin | None]:
    """The names that rows take in a stub, and where those that it imports come from."""
    return {
        name: Origin(row.place, row.name) if isinstance(row, Alias) and row.name == name else None
        for name, row in rows.items()
    }


def row_lines(rows: Rows, name: str, imports: Imports) -> list[str]:
    """One name of a module of the table, as a stub has it."""
    row = rows[name]
    if isinstance(row, Alias):
        if row.name == name:
            return [f"from {row.place} import {name} as {name}"]
        return [f"{name} = {imports.name_of(Origin(row.place, row.name))}"]
    if isinstance(row, Setting):
        return _setting(name, row.value, imports)
    if isinstance(row, Answer):
        kind = "None" if row.value is None else kind_of(row.value, imports)
        return [f"def {name}({_ANYTHING}) -> {kind}: {row.doc!r}"]
    if isinstance(row, Refusal):
        return _refusal(name, row, imports)
    assert isinstance(row, Made) and isinstance(row.inside, dict), name
    return _switch(name, row.inside, rows, imports)


def kind_of(value: object, imports: Imports) -> str:
    """The type of a value in a row, which may be a type that stands for None or something empty."""
    if isinstance(value, types.UnionType):
        return " | ".join(kind_of(part, imports) for part in value.__args__)
    if isinstance(value, types.GenericAlias):
        inside = ", ".join(kind_of(part, imports) for part in value.__args__)
        return f"{kind_of(value.__origin__, imports)}[{inside}]"
    if value is types.NoneType or value is ...:
        return "None" if value is types.NoneType else "..."
    if isinstance(value, set):
        return f"{kind_of(set, imports)}[{kind_of(type(next(iter(value))), imports)}]"
    kind: Any = Any if value is Any else value if isinstance(value, type) else type(value)
    return imports.name_of(Origin(kind.__module__, kind.__name__))


def _setting(name: str, value: object, imports: Imports) -> list[str]:
    if not isinstance(value, Settings):
        return [f"{name}: {kind_of(value, imports)}"]
    computed = [own for own, part in vars(type(value)).items() if isinstance(part, property)]
    parts = {own: getattr(value, own) for own in computed} | vars(value)
    inside = [f"    {own}: {kind_of(part, imports)}" for own, part in parts.items()]
    return [f"class _{name}_settings:", *inside, f"{name}: _{name}_settings"]


def _refusal(name: str, row: Refusal, imports: Imports) -> list[str]:
    """What refuses: editors strike calls out and say why; a class serves in annotations."""
    mark = f"@{imports.name_of(Origin('typing_extensions', 'deprecated'))}"
    why = f"{mark}({f'Not supported: {row.why}.'!r})"
    if not row.is_class:
        never = imports.name_of(Origin("typing", "NoReturn"))
        return [why, f"def {name}({_ANYTHING}) -> {never}: ..."]
    anything = imports.name_of(Origin("typing", "Any"))
    text = imports.name_of(Origin("builtins", "str"))
    return [
        f"class {name}:",
        f"    {why}",
        f"    def __init__(self, {_ANYTHING}) -> None: ...",
        f"    def __getattr__(self, name: {text}) -> {anything}: ...  # there is no instance",
    ]


def _switch(name: str, inside: dict[str, object], rows: Rows, imports: Imports) -> list[str]:
    """``set_flags``, whose parameters PyTorch names with an underline, or ``flags``."""
    kinds = {own: kind_of(_value(rows[own]), imports) for own in inside}
    optional = {n: k if k.endswith("None") else f"{k} | None" for n, k in kinds.items()}
    if name == "set_flags":
        given = ", ".join(f"_{n}: {k} = None" for n, k in optional.items())
        old = f"{imports.name_of(Origin('builtins', 'tuple'))}[{', '.join(kinds.values())}]"
        return [f"def {name}({given}) -> {old}: ..."]
    given = ", ".join(f"{n}: {k} = {inside[n]!r}" for n, k in optional.items())
    manager = imports.name_of(Origin("contextlib", "AbstractContextManager"))
    return [f"def {name}({given}) -> {manager}[None]: ..."]


def _value(row: Row) -> object:
    assert isinstance(row, Setting)
    return row.value
