"""Which files know NumPy: the backends and what processes exchange; others are listed, no op."""

from __future__ import annotations

import ast
from pathlib import Path

import retrograd

PACKAGE = Path(retrograd.__file__).parent
# They work in the memory of the host: files, random numbers, sparse layouts, data of Python. A file
# that needs NumPy no longer must leave the list, and none may join it.
# What goes from process to process lies in the host's memory, too: those are whole rooms.
ROOMS = ("backend/", "distributed/", "parallel/", "nn/parallel/")
LISTED = set((Path(__file__).parent / "numpy_files.txt").read_text().split())


def imports_numpy(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        if any(name.partition(".")[0] == "numpy" for name in names):
            return True
    return False


def test_only_the_backends_and_what_is_listed_know_numpy():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if imports_numpy(path)
    }
    assert {name for name in found if not name.startswith(ROOMS)} == LISTED


def test_kernels_and_optimizers_do_not():
    rooms = ("ops/", "optim/")
    # made from data of Python and NumPy, drawn on the host, told to the compiled core of the CPU
    host = ("ops/making/", "ops/random/", "ops/compiled/")
    assert not {n for n in LISTED if n.startswith(rooms) and not n.startswith(host)} - {
        *("ops/calling/compile.py", "ops/calling/dispatch.py"),  # the CPU's own way of calling
        *("ops/calling/function_modes.py", "ops/calling/operands.py"),  # numbers of NumPy
        "ops/calling/signature_table.py",  # the same
    }
