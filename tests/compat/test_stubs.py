"""The type stubs beside the code: the same names, parameters and defaults."""

from __future__ import annotations

import ast
import importlib
import inspect
from functools import cache
from typing import Any

import pytest

import retrograd as torch
from retrograd.compat.stubs import ATTACHED, MODULES, MORE, PACKAGE, form, stub_path, writers
from retrograd.core import python_function
from retrograd.namespaces import finder
from retrograd.ops.registry import OPS, PUBLIC

WRITERS = writers()


@cache
def text_of(path: str) -> str:
    """What the code says now: worked out by the process that asks, not by all that collect."""
    return WRITERS[path]()


@pytest.mark.parametrize("path", WRITERS)
def test_the_stub_is_what_the_code_says(path: str) -> None:
    """If this fails: python -m retrograd.compat.stubs."""
    assert (PACKAGE / path).read_text(encoding="utf-8") == text_of(path)


def test_every_written_stub_is_written_still() -> None:
    """One that is not belongs to a module that is gone: remove it."""
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.pyi")}
    own = {path for path, text in texts.items() if "retrograd.compat.stubs" in text}
    assert own == {PACKAGE / path for path in WRITERS}


def test_what_the_table_has_for_a_module_with_a_file_is_in_a_stub() -> None:
    with_file = {name for names in finder.MORE.values() for name in names.split()}
    assert with_file - {"utils.data.dataloader"} <= {*MODULES, *MORE}
    for module in MORE:
        stub = f"from retrograd.namespaces.more.{module.replace('.', '_')} import *"
        place = importlib.import_module(f"retrograd.{module}")
        assert stub in inspect.getsource(place)


def _names(body: list[ast.stmt]) -> set[str]:
    """The public names that the statements of a stub define or export."""
    found = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            found |= {part.name for part in node.names if part.asname == part.name}
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize("module", [*MODULES, *finder.TABLED])
def test_every_public_name_is_in_the_stub_and_the_other_way_round(module: str) -> None:
    path = stub_path(module)
    place = importlib.import_module(f"retrograd.{module}".rstrip("."))
    listed = _names(ast.parse(text_of(path)).body)
    assert [name for name in listed if not hasattr(place, name)] == []
    offered = {*PUBLIC.get(module or "torch", ()), *getattr(place, "__all__", ())}
    assert {name for name in offered - listed if not name.startswith("_")} == set()
    own = {n for n, v in vars(place).items() if not n.startswith("_") and not inspect.ismodule(v)}
    hidden = {"PUBLIC", "from_table", "published", "on_first_use", "Any", "annotations"}
    assert own - listed <= hidden


def test_every_member_of_a_tensor_is_known_to_a_type_checker() -> None:
    attached = ast.parse(text_of(ATTACHED)).body[-1]
    own = ast.parse((PACKAGE / "tensor/__init__.py").read_text(encoding="utf-8")).body
    itself = next(n for n in own if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    assert isinstance(attached, ast.ClassDef)
    known = _names(attached.body) | _names(itself.body)
    members = {name for name in dir(torch.Tensor) if not name.startswith("_")}
    assert members - known == set()
    assert {name for name in known if not hasattr(torch.Tensor, name)} == set()


def _functions() -> list[tuple[str, ast.FunctionDef]]:
    """The definitions that stand once in a stub: those without overloads."""
    found = []
    for module in MODULES:
        body = ast.parse(text_of(stub_path(module))).body
        once = [n for n in body if isinstance(n, ast.FunctionDef) and not n.decorator_list]
        found += [(module, node) for node in once]
    return found


def _real(function: Any) -> inspect.Signature:
    """A function that works in place is compiled at its first call, and says nothing before."""
    twins = {python_function(op.inplace_function): op for op in OPS.values()}
    twin = twins.get(python_function(function))
    return inspect.signature(function) if twin is None else twin.signature


def test_parameters_and_defaults_are_those_of_the_functions() -> None:
    checked = 0
    for module, node in _functions():
        function = getattr(importlib.import_module(f"retrograd.{module}".rstrip(".")), node.name)
        if hasattr(function, "__forms__"):
            continue
        stubbed = form(f"({ast.unparse(node.args)}) -> None").parameters
        real = _real(function).parameters
        for name, parameter in real.items():
            shown = stubbed[name]
            assert shown.kind is parameter.kind, (module, node.name, name)
            if shown.default is not ...:
                assert shown.default == parameter.default, (module, node.name, name)
        assert set(stubbed) - set(real) <= {"out"}, (module, node.name)  # ops with out=True
        checked += 1
    assert checked > 700


def test_forms_name_parameters_that_the_function_takes() -> None:
    tables = [*PUBLIC.values(), vars(torch.Tensor)]
    functions = {f for table in tables for f in table.values() if hasattr(f, "__forms__")}
    assert len(functions) > 20
    for function in functions:
        real = inspect.signature(function).parameters.values()
        if any(p.kind is p.VAR_KEYWORD for p in real):
            continue  # it sorts them out itself
        names = {p.name for p in real}
        for text in function.__forms__:
            for parameter in form(text).parameters.values():
                named = parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
                free = parameter.default is parameter.empty
                assert parameter.name in names or not named or free, (function, text)
