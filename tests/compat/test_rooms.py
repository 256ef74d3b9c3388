"""Imports between rooms point one way: to rooms further down in the list.

A room is a folder of the package, or a module beside the folders. An import inside a function
counts as one at the top of a module; one for type checkers alone does not. Where a lower room must
call a higher one, it declares the function with `above`, and `connections.py` says which it is.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import retrograd
from retrograd.above import DECLARED, defined
from retrograd.connections import CONNECTIONS

PACKAGE = Path(retrograd.__file__).parent

# The package's own module, `retrograd`, collects what it shows; the tools start from there.
ROOMS = """
    above torch_version signatures marks backend dtypes reduced_dtypes samples diagnostics
    notices core return_types
    tensor namespaces
    lifecycle engine random
    ops
    types foreach fft linalg special assertions symbolic removed storage
    transforms autograd tensors sparse
    futures testing profiler signal library amp
    distributed nn func overrides optim masked
    multiprocessing serialization interchange settings utils parallel
    distributions jit model_summary quasirandom progress_bar _utils replay accelerators connections
    retrograd
    running lint watching graph doctor compat commands cli __main__
""".split()


def room_of(module: str) -> str:
    """The room of a module, given by its full name; the package's own is ``retrograd``."""
    return (module.partition(".")[2] or module).partition(".")[0]


MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


def imported(module: str, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The modules that an import statement of a module names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        inside = MODULES[module].name != "__init__.py"
        package = module.split(".")[: len(module.split(".")) - node.level + (not inside)]
        base = ".".join([*package, *([node.module] if node.module else [])])
    for alias in node.names:
        whole = f"{base}.{alias.name}"
        yield whole if whole in MODULES else base


def imports(module: str) -> Iterator[tuple[str, int]]:
    """What a module imports from the package, wherever in its text, and the lines."""
    waiting: list[ast.AST] = [ast.parse(MODULES[module].read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for found in imported(module, node):
                if found.partition(".")[0] == "retrograd":
                    yield found, node.lineno
        else:
            waiting.extend(ast.iter_child_nodes(node))


def test_every_room_is_listed_once():
    assert sorted(ROOMS) == sorted({room_of(module) for module in MODULES})


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_below(room):
    above = set(ROOMS[ROOMS.index(room) + 1 :])
    assert not [
        f"{module}:{line} imports {found}"
        for module in MODULES
        if room_of(module) == room
        for found, line in imports(module)
        if room_of(found) in above
    ]


def test_every_call_upwards_is_declared_and_connected():
    for module in MODULES:
        if "above import above" in MODULES[module].read_text("utf-8"):
            import_module(module)
    assert DECLARED == set(CONNECTIONS)


@pytest.mark.parametrize("name", CONNECTIONS)
def test_a_call_upwards_points_up_and_fits(name):
    """The definition takes what the declaration says, and lies in a room further up."""
    module, _, function = name.rpartition(".")
    target = CONNECTIONS[name].partition(":")[0].partition(".")[0]
    assert ROOMS.index(target) > ROOMS.index(name.partition(".")[0])
    declared = inspect.signature(getattr(import_module(f"retrograd.{module}"), function))
    parameters = declared.parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return  # passes options on
    named = {p.name: p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    inspect.signature(defined(name)).bind(*positional, **named)
