"""The cells of a notebook as one program: those that ran so far, in order, in a new process.

A cell keeps its name and its lines, so an edit of it can be laid over it as over a file. One that
fails does not end the program, as it does not end the notebook.
"""

from __future__ import annotations

import ast
import contextlib
import json
import linecache
import sys
import traceback
import types
from pathlib import Path
from typing import Any

from retrograd.doctor.library import watch
from retrograd.watching import source
from retrograd.watching.files import as_json

SETTINGS = frozenset("autoreload colors config load_ext matplotlib precision reload_ext".split())
"""Line magics that change how things are shown: without them a cell computes the same."""

Cell = dict[str, Any]  # "name" and "text"; "engine" of one that is watched


class CannotReplay(Exception):
    """The cells are more than a program; the message says why."""


def cells_of(shell: Any) -> list[Cell]:
    """The cells that a shell has run, the one that runs now included."""
    history = getattr(shell, "history_manager", None)
    if history is None:
        raise CannotReplay("the notebook keeps no record of its cells")
    names = _Names(shell)
    found: list[Cell] = []
    for number, text in enumerate(history.input_hist_parsed):
        if text.strip():
            found.append(_cell(number, text, shell, names))
    return found


def _cell(number: int, text: str, shell: Any, names: _Names) -> Cell:
    """One cell: its own text, or that below `%%doctor`."""
    magics = _magics(number, text)
    whole = [(name, *given) for kind, name, *given in magics if kind == "run_cell_magic"]
    for name, line, body in whole:
        if name == "doctor":
            inner = shell.transform_cell(body)
            _magics(number, inner)
            return {"name": names.take(inner), "text": inner, "engine": engine_asked(line)}
        raise CannotReplay(f"cell {number} is for the magic %%{name}")
    return {"name": names.take(text), "text": text}


def engine_asked(line: str) -> str | None:
    """The engine in the line of `%%doctor torch --no-verify`."""
    words = [word for word in line.split() if not word.startswith("-")]
    return words[0] if words else None


def _magics(number: int, text: str) -> list[tuple[str, ...]]:
    """The calls of IPython in a cell; those that do more than set something refuse."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        raise CannotReplay(f"cell {number} is no plain Python") from None
    found: list[tuple[str, ...]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value) == "get_ipython()":
                values = [a.value for a in node.args if isinstance(a, ast.Constant)]
                words = [value for value in values if isinstance(value, str)]
                found.append((node.func.attr, *words))
    for kind, *given in found:
        if kind == "run_cell_magic" and len(given) == 3:
            continue
        if kind == "run_line_magic" and given and given[0] in SETTINGS:
            continue
        what = f"the magic %{given[0]}" if kind == "run_line_magic" and given else f"`{kind}`"
        raise CannotReplay(f"cell {number} uses {what}")
    return found


class _Names:
    """Which cell ran under which file name; tracebacks and places have these names."""

    def __init__(self, shell: Any) -> None:
        self._known = list(getattr(shell.compile, "_filename_map", ()))

    def take(self, text: str) -> str:
        """The name under which a text ran first; the next time, the next one."""
        lines = [f"{line}\n" for line in text.splitlines()]
        for name in self._known:
            if linecache.getlines(name) == lines:
                self._known.remove(name)
                return str(name)
        return f"<ipython-input-{len(text)}-unnamed>"


# ------------------------------------------------------------------------- in the new process


def write_program(cells: list[Cell], folder: Path) -> Path:
    """The program that runs the cells, in a folder of a trial."""
    listed, program = folder / "cells.json", folder / "cells.py"
    listed.write_text(as_json(cells), encoding="utf-8")
    program.write_text(
        f"from retrograd.doctor.fixes.cells import replay\n\nreplay({str(listed)!r})\n",
        encoding="utf-8",
    )
    return program


class _Shell:
    """What `get_ipython()` gives in a cell: settings are left alone."""

    def run_line_magic(self, *given: object) -> None:
        """Nothing: `cells_of` has let only settings pass."""


def replay(listed: str) -> None:
    """Run the cells one after the other in one namespace."""
    cells: list[Cell] = json.loads(Path(listed).read_text(encoding="utf-8"))
    module = types.ModuleType("__main__")
    space = vars(module)
    space.update(get_ipython=_Shell, display=lambda *given, **keywords: None)
    sys.modules["__main__"] = module
    for cell in cells:
        name, lines = cell["name"], cell["text"].splitlines(keepends=True)
        linecache.cache.setdefault(name, (len(cell["text"]), None, lines, name))
        try:
            code = compile(source.bytes_of(name), name, "exec")
            with watch(cell["engine"]) if "engine" in cell else contextlib.nullcontext():
                exec(code, space)
        except Exception:
            traceback.print_exc()
