"""The examples in docstrings run: `torch` is retrograd there, `xp` the functions of the CPU."""

from __future__ import annotations

import ast
import doctest
import functools
import importlib
import importlib.util
import pkgutil
import warnings
from inspect import cleandoc
from pathlib import Path

import pytest

import retrograd
from retrograd.backend import CPU
from retrograd.ops.registry import COMPOSITES, OPS, PUBLIC

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(retrograd.__path__, "retrograd.")
    if not module.name.endswith(("__main__", "_core", "_tiny"))
)


def text_of(name):
    """The text of a module, if there are examples in it."""
    origin = importlib.util.find_spec(name).origin
    text = Path(origin).read_text("utf-8") if origin.endswith(".py") else ""
    return text if ">>> " in text else ""


@functools.cache
def docstrings(name):
    """The docstrings with examples that are written in a module, each with its place.

    They are read from the text: a function that a declaration has replaced by another keeps its
    examples only there.
    """
    text = text_of(name)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    found = [(ast.get_docstring(node) or "", getattr(node, "lineno", 1)) for node in nodes]
    return [(doc, line) for doc, line in found if ">>> " in doc]


# All are read as trees only by the process that runs them: collecting is done by each.
DOCUMENTED = [name for name in MODULES if text_of(name)]


def failures(doc, name, module, line=0):
    names = {**vars(module), "torch": retrograd, "xp": CPU.xp}
    test = doctest.DocTestParser().get_doctest(doc, names, name, module.__file__, line)
    assert test.examples
    retrograd.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed


def test_every_module_can_be_imported():
    for name in MODULES:
        importlib.import_module(name)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_of_a_module(name):
    module = importlib.import_module(name)
    found = docstrings(name)
    if not found:
        pytest.skip("its examples are in no docstring")
    assert [line for doc, line in found if failures(doc, name, module, line)] == []


def test_examples_of_ops():
    """What users read of an op: texts that were put together are in no file as they are."""
    written = {doc for name in DOCUMENTED for doc, _ in docstrings(name)}
    shown = {name: cleandoc(op.function.__doc__ or "") for name, op in OPS.items() if op.doc}
    shown |= {
        name: cleandoc(function.__doc__ or "")
        for table in PUBLIC.values()
        for name, function in table.items()
    }
    with_examples = {name: doc for name, doc in shown.items() if ">>> " in doc}
    composed = {name: doc for name, doc in with_examples.items() if doc not in written}
    assert len(with_examples) > 150
    assert [name for name, doc in composed.items() if failures(doc, name, retrograd)] == []


def test_public_functions_say_what_they_do():
    silent = [
        f"{space}.{name}"
        for space, table in PUBLIC.items()
        for name, function in table.items()
        if not (function.__doc__ or "").strip()
    ]
    assert silent == []
    assert len(COMPOSITES) > 300
