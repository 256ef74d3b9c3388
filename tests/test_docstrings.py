"""The examples in docstrings run: `torch` is retrograd there, `xp` the functions of the CPU."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import warnings

import pytest

import retrograd
from retrograd.backend import CPU
from retrograd.ops.registry import COMPOSITES, OPS, PUBLIC

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(retrograd.__path__, "retrograd.")
    if not module.name.endswith(("__main__", "_core", "_tiny"))
)


def run(name, module, function=None):
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    found = finder.find(module if function is None else function, name, module=module)
    for test in found:
        test.globs = {**vars(module), "torch": retrograd, "xp": CPU.xp}
        retrograd.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runner.run(test)
    return runner.summarize(verbose=False)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name):
    assert run(name, importlib.import_module(name)).failed == 0


def test_examples_of_ops():
    """Generated functions are not found by module: their examples are the kernels'."""
    failed = [
        name for name, op in OPS.items() if op.doc and run(name, retrograd, op.function).failed
    ]
    assert failed == []


def test_public_functions_say_what_they_do():
    silent = [
        f"{space}.{name}"
        for space, table in PUBLIC.items()
        for name, function in table.items()
        if not (function.__doc__ or "").strip()
    ]
    assert silent == []
    assert len(COMPOSITES) > 300
